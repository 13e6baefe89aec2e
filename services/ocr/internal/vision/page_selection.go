package vision

import (
	"inkstream.dev/pkg/agree"
	"inkstream.dev/pkg/job"
)

const (
	// lowQuality is the witness's quality below which a model is asked, manyUnread the share of ink without words above
	// which one is, and manyRulings the number of lines from which the page has a ruled table.
	lowQuality  = 0.75
	manyUnread  = 0.35
	manyRulings = 8
)

// reasonToAsk says why a model is asked for the page; empty if there is no reason.
func (v *verifier) reasonToAsk() string {
	var boxes []agree.Box
	for _, w := range v.words.all {
		boxes = append(boxes, w.Box)
	}
	switch {
	case len(v.words.all) == 0 && v.ink.unreadShare(nil) == 0:
		return "" // an empty page, about which models invent
	case v.opts.Engine == job.EngineVision:
		return "the job asks for one"
	case len(v.words.all) > 0 && v.witness.GetQuality() < lowQuality:
		return "the other reading is poor"
	case v.ink.unreadShare(boxes) > manyUnread:
		return "there is ink without words"
	case len(v.witness.GetRulings()) >= manyRulings:
		return "there is a table"
	default:
		return ""
	}
}

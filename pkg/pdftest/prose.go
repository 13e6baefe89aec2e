package pdftest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// prose makes up text that reads like a company's reports. It is ASCII and made of ordinary words, because a recogniser reads words
// from its dictionary better than others, and scores should say something about images, not about vocabulary.
type prose struct{ rng *rand.Rand }

func newProse(seed uint64) prose { return prose{rand.New(rand.NewPCG(seed, 0x1f2e3d4c5b6a7988))} }

var (
	nouns = strings.Fields(`archive account address agreement annual-report assessment balance board branch budget building
		cargo certificate chapter charter client committee company contract council customer delivery department deposit
		document engine estimate evidence exchange exhibit facility factory figure freight garden harbour history index
		inspection insurance invoice journal kitchen laboratory ledger letter library licence machine manager manual market
		measure meeting memorandum method minister model motion network notice number office officer operation order owner
		paper paragraph parcel payment permit policy portfolio procedure product programme project property proposal railway
		receipt record register regulation reply report request reserve resolution result review river salary schedule
		school section seller session shipment station statement storage street summary supplier survey system table tariff
		tenant territory theatre ticket timber township trade treasury valley vessel village warehouse window workshop`)
	verbs = strings.Fields(`accepted adopted amended approved assembled audited closed collected compared completed confirmed
		considered corrected covered delivered described discussed distributed examined explained extended filed finished
		followed forwarded improved included inspected issued listed measured moved noted observed opened ordered painted
		planned prepared presented printed produced published purchased received recorded reduced registered rejected
		repaired replaced reported requested returned reviewed revised selected settled signed sold stored supplied
		supported tested transferred updated verified weighed`)
	adjectives = strings.Fields(`additional annual available careful central certain clear commercial common complete
		considerable current daily different early eastern educational empty exact external final financial foreign former
		formal general good great heavy important industrial internal large late local long modern monthly narrow national
		natural necessary northern official older ordinary original permanent plain practical present previous private
		proper public quiet recent regional regular remarkable second separate several similar simple single small southern
		special standard strong sufficient technical temporary third useful usual valuable various western whole yearly`)
	places  = strings.Fields(`Aldbury Brampton Carlisle Denholm Eastbourne Fairfield Glenmore Hartwell Kingsbridge Langford Milton Norwood Oakham Preston Redhill Stanton Thornbury Upton Walford Weston`)
	persons = strings.Fields(`Adams Baker Carter Dawson Ellis Foster Graham Harris Jackson King Lawson Mason Nelson Parker Reynolds Shaw Turner Walker Young`)
	months  = strings.Fields(`January February March April May June July August September October November December`)
	links   = []string{"In addition,", "However,", "As a result,", "For this reason,", "At the same time,", "On the other hand,", "In particular,"}
	preps   = strings.Fields(`of for from with under near beside against before after`)
)

func (p prose) pick(words []string) string { return words[p.rng.IntN(len(words))] }

func (p prose) noun() string { return strings.ReplaceAll(p.pick(nouns), "-", " ") }

func (p prose) date() string {
	return fmt.Sprintf("%d %s %d", 1+p.rng.IntN(28), p.pick(months), 1950+p.rng.IntN(75))
}

// clause returns "the final report was reviewed by the council" or the like.
func (p prose) clause() string {
	switch p.rng.IntN(6) {
	case 0:
		return fmt.Sprintf("the %s %s was %s by the %s", p.pick(adjectives), p.noun(), p.pick(verbs), p.noun())
	case 1:
		return fmt.Sprintf("the %s %s the %s %s of the %s", p.noun(), p.pick(verbs), p.pick(adjectives), p.noun(), p.noun())
	case 2:
		return fmt.Sprintf("%s of %s %s the %s on %s", p.pick(persons), p.pick(places), p.pick(verbs), p.noun(), p.date())
	case 3:
		return fmt.Sprintf("the %s %s %s a %s %s the %s", p.noun(), p.pick(preps), p.pick(places), p.pick(verbs), p.pick(adjectives), p.noun())
	case 4:
		return fmt.Sprintf("%d of the %d %s entries were %s", 2+p.rng.IntN(80), 82+p.rng.IntN(900), p.pick(adjectives), p.pick(verbs))
	default:
		return fmt.Sprintf("no %s %s was %s in the %s of %s", p.pick(adjectives), p.noun(), p.pick(verbs), p.noun(), p.pick(places))
	}
}

func (p prose) sentence() string {
	var s string
	switch p.rng.IntN(5) {
	case 0:
		s = p.pick(links) + " " + p.clause()
	case 1:
		s = p.clause() + ", and " + p.clause()
	case 2:
		s = p.clause() + " because " + p.clause()
	case 3:
		s = p.clause() + fmt.Sprintf(" (see page %d)", 1+p.rng.IntN(400))
	default:
		s = p.clause()
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

func (p prose) paragraph(sentences int) string {
	out := make([]string, sentences)
	for i := range out {
		out[i] = p.sentence()
	}
	return strings.Join(out, " ")
}

func (p prose) heading() string {
	s := fmt.Sprintf("%s %s and %s", p.pick(adjectives), p.noun(), p.noun())
	return strings.ToUpper(s[:1]) + s[1:]
}

// Marker returns a word that stands for the number n: easy to read, easy to search for, and different for each number below 1.6
// million.
func Marker(n int) string {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	const syllables = len(consonants) * len(vowels)
	var b strings.Builder
	b.WriteString("Q")
	b.WriteString("u")
	// A stride that shares no factor with the range scatters neighbours, so that markers of neighbouring pages look different.
	const space = syllables * syllables * syllables * syllables
	v := (n*7919*1009 + 123457) % space
	for range 4 {
		s := v % syllables
		b.WriteByte(consonants[s/len(vowels)])
		b.WriteByte(vowels[s%len(vowels)])
		v /= syllables
	}
	return b.String()
}

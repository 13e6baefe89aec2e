package pdftest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// proseGenerator makes up text that reads like a company's reports. It is ASCII and made of ordinary words, because a
// recogniser reads words from its dictionary better than others, and scores should say something about images, not
// about vocabulary.
type proseGenerator struct{ rng *rand.Rand }

func newProseGenerator(seed uint64) proseGenerator {
	return proseGenerator{rand.New(rand.NewPCG(seed, 0x1f2e3d4c5b6a7988))}
}

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
	links   = []string{"In addition,", "However,", "As a result,", "For this reason,", "At the same time,",
		"On the other hand,", "In particular,"}
	preps = strings.Fields(`of for from with under near beside against before after`)
)

func (p proseGenerator) pickWord(words []string) string { return words[p.rng.IntN(len(words))] }

func (p proseGenerator) makeNounPhrase() string {
	return strings.ReplaceAll(p.pickWord(nouns), "-", " ")
}

func (p proseGenerator) makeDate() string {
	return fmt.Sprintf("%d %s %d", 1+p.rng.IntN(28), p.pickWord(months), 1950+p.rng.IntN(75))
}

// makeClause returns "the final report was reviewed by the council" or the like.
func (p proseGenerator) makeClause() string {
	switch p.rng.IntN(6) {
	case 0:
		return fmt.Sprintf("the %s %s was %s by the %s", p.pickWord(adjectives), p.makeNounPhrase(), p.pickWord(verbs),
			p.makeNounPhrase())
	case 1:
		return fmt.Sprintf("the %s %s the %s %s of the %s", p.makeNounPhrase(), p.pickWord(verbs), p.pickWord(adjectives),
			p.makeNounPhrase(), p.makeNounPhrase())
	case 2:
		return fmt.Sprintf("%s of %s %s the %s on %s", p.pickWord(persons), p.pickWord(places), p.pickWord(verbs),
			p.makeNounPhrase(), p.makeDate())
	case 3:
		return fmt.Sprintf("the %s %s %s a %s %s the %s", p.makeNounPhrase(), p.pickWord(preps), p.pickWord(places),
			p.pickWord(verbs), p.pickWord(adjectives), p.makeNounPhrase())
	case 4:
		return fmt.Sprintf("%d of the %d %s entries were %s", 2+p.rng.IntN(80), 82+p.rng.IntN(900), p.pickWord(adjectives),
			p.pickWord(verbs))
	default:
		return fmt.Sprintf("no %s %s was %s in the %s of %s", p.pickWord(adjectives), p.makeNounPhrase(), p.pickWord(verbs),
			p.makeNounPhrase(), p.pickWord(places))
	}
}

func (p proseGenerator) makeSentence() string {
	var s string
	switch p.rng.IntN(5) {
	case 0:
		s = p.pickWord(links) + " " + p.makeClause()
	case 1:
		s = p.makeClause() + ", and " + p.makeClause()
	case 2:
		s = p.makeClause() + " because " + p.makeClause()
	case 3:
		s = p.makeClause() + fmt.Sprintf(" (see page %d)", 1+p.rng.IntN(400))
	default:
		s = p.makeClause()
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

func (p proseGenerator) makeParagraph(sentences int) string {
	out := make([]string, sentences)
	for i := range out {
		out[i] = p.makeSentence()
	}
	return strings.Join(out, " ")
}

func (p proseGenerator) makeHeading() string {
	s := fmt.Sprintf("%s %s and %s", p.pickWord(adjectives), p.makeNounPhrase(), p.makeNounPhrase())
	return strings.ToUpper(s[:1]) + s[1:]
}

// MarkerWord returns a word that stands for the number n: easy to read, easy to search for, and different for each
// number below 1.6 million.
func MarkerWord(n int) string {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	const syllables = len(consonants) * len(vowels)
	var b strings.Builder
	b.WriteString("Q")
	b.WriteString("u")
	// A stride that shares no factor with the range scatters neighbours, so that markers of neighbouring pages look
	// different.
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

package language

import "strings"

// The languages that are told by their commonest words.
const (
	bul = iota
	ces
	dan
	deu
	eng
	fin
	fra
	hun
	ind
	ita
	nld
	nor
	pol
	por
	ron
	rus
	spa
	swe
	tur
	ukr
	vie
)

var languageCodes = [...]string{"bul", "ces", "dan", "deu", "eng", "fin", "fra", "hun", "ind", "ita", "nld", "nor",
	"pol", "por", "ron", "rus", "spa", "swe", "tur", "ukr", "vie"}

// maxStopWord is longer than any word of plain ASCII below.
const maxStopWord = 12

// stopWords holds the commonest words of each language.
var stopWords = buildWordIndex(map[uint8]string{
	bul: `и в на да се от за не с че е по са като това до който или той при през си но бе ще има би които след към още може как един само този тя`,
	ces: `a v na se je že s z do o i to jako za by ale pro po jsou ve k od jeho které který jejich tak podle si byl bylo také byla nebo jen před může až však jak není když u co už této kde při být tím která`,
	dan: `og i at det er en til af på der som for med den de ikke har et var han om men vi kan fra så eller sig ved efter være også nu blev hun over skal havde ud hvor når man ind sin kun mere dette denne meget blive`,
	deu: `der die und das den von zu ist mit sich des auf für nicht ein eine als auch es an werden aus er hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur bis mehr durch man dem im wenn kann können sein wurde diese dieser`,
	eng: `the of and to in is that for it as was with be by on not he this are or his from at which but have an had they you were there been has their we if would who will more no when can so about one all may must each should these than into only other such any also its`,
	fin: `ja on ei oli että se hän joka mutta kuin myös ovat sen jos kun mukaan sekä voi tai olla vain niin siitä jonka olisi hänen nyt ole vielä tämä jo mitä kanssa kaikki jälkeen jotka tämän sitä minä en näin sitten kuitenkin`,
	fra: `de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont avec ou son aux été cette ont ses mais comme nous elle tout fait être leur sans peut vous entre ces deux même dont où si bien était je`,
	hun: `a az és hogy nem is egy van volt meg csak de már még mint ez ha el azt vagy kell mi sem nagyon lehet után le majd fel volna amely között pedig minden ezt így mert akkor több itt ők olyan lesz alatt szerint`,
	ind: `yang dan di untuk dengan dari pada dalam ini itu tidak adalah ke akan oleh juga atau sebagai karena dapat telah lebih ada bahwa mereka kami sudah saat tersebut bisa menjadi hanya serta para banyak seperti hari antara`,
	ita: `di e il la che in un a per è una non sono da con si del le dei alla della nel più anche come i al dal lo gli ha delle o se ma questo sul ai quanto nella alle dalla degli essere stato questa era loro suo tra fra due poi dove cui`,
	nld: `de van een het en in is dat op te voor met zijn die niet aan er om ook als dan maar bij of door nog naar uit heeft worden was wordt over tot wel hebben kan deze meer zij geen had dit hun werd kunnen moet zo haar wij onder men`,
	nor: `og i det er på til som en for å av at med de han den ikke har et var om fra vi men seg så kan eller etter ble være hadde ved også sin skal nå bare når over ut hun mot kunne mer noe noen sier opp hva dette`,
	pol: `i w na z się nie do jest to że o jak po za od przez co dla ale ich jego tym które był są tak oraz może już było który tylko przy czy także lub jako będzie która być ma tego więc ze ten przed ją`,
	por: `de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das tem à seu sua ou ser quando muito há nos já está eu também só pelo pela até isso ela entre era depois sem mesmo aos seus são`,
	ron: `de și în a la cu nu pe care o un din că se mai este pentru sunt al ca au fi dar sau am prin ce lui după are fost dintre era ei fiind când foarte această acest cum până doar lor între toate fără sa`,
	rus: `и в не на я что с он а как это по к но из у за от о так же для бы все было только или когда уже до если его быть они ее был мы при чтобы может их есть который также после этого`,
	spa: `de la que el en y los del se las por un para con no una su al es lo como más o pero sus le ha me sin sobre este ya entre cuando todo esta ser son dos también fue había era muy años hasta desde está mi porque qué sólo han yo hay`,
	swe: `och i att det som en på är av för med till den har de inte om ett var jag men så från vi kan du eller när ut där sig han man vid efter under också sin nu skulle bara även mycket ska detta mot alla hade då mer vara blir`,
	tur: `ve bir bu da de için ile olarak olan daha çok en gibi sonra kadar ne var o olduğu ise ya ki değil her ancak tarafından iki mi göre ama diye bunu hem önce şu yok onun şey içinde kendi büyük`,
	ukr: `і в не на що з він а як це до у за від та для було є або також його які але їх при так про який буде був після може вже під між були цього щоб я ще`,
	vie: `và của là có được cho không trong một các với người những này khi để đã từ như đó ra về đến cũng nhiều phải vào theo tại trên sự còn nhưng thì năm sẽ hay làm việc bị đây rất`,
})

// buildWordIndex turns the lists into a map from words to languages.
func buildWordIndex(lists map[uint8]string) map[string][]uint8 {
	out := map[string][]uint8{}
	for language, list := range lists {
		for word := range strings.FieldsSeq(list) {
			out[word] = append(out[word], language)
		}
	}
	return out
}

// rareLetters holds letters that few languages have.
var rareLetters = map[rune][]uint8{
	'ß': {deu},
	'ä': {deu, swe, fin},
	'ö': {deu, swe, fin, hun, tur},
	'ü': {deu, hun, tur},
	'ñ': {spa},
	'ã': {por},
	'õ': {por},
	'ç': {fra, por, tur},
	'è': {fra, ita},
	'ê': {fra, por},
	'ø': {dan, nor},
	'å': {swe, dan, nor},
	'æ': {dan, nor},
	'ł': {pol},
	'ą': {pol},
	'ę': {pol},
	'ś': {pol},
	'ż': {pol},
	'ř': {ces},
	'ě': {ces},
	'ů': {ces},
	'č': {ces},
	'ž': {ces},
	'ő': {hun},
	'ű': {hun},
	'ș': {ron},
	'ț': {ron},
	'ă': {ron, vie},
	'ş': {tur},
	'ı': {tur},
	'ğ': {tur},
	'đ': {vie},
	'ơ': {vie},
	'ư': {vie},
	'ạ': {vie},
	'ế': {vie},
	'ộ': {vie},
	'œ': {fra},
	'ò': {ita},
	'ù': {ita, fra},
}

package vision

import (
	"maps"
	"slices"

	"inkstream.dev/services/ocr/internal/vision/answer"
)

// pixels as a profile's scale says that boxes are in pixels of the picture that was sent.
const pixels = 0

// profile is how a family of models is asked, and how it answers. The families know their own short prompts only: other
// ones give loops or nothing.
type profile struct {
	prompt      string
	textFirst   bool
	maxTokens   int
	temperature float64
	longestSide int // of the picture, in pixels
	scale       float64
	format      answer.Format
	extra       map[string]any // fields of the request beside the common ones
	// byBlock says that the family reads one block at a time, for which another model has to find the blocks; prompt is for
	// text then, and these are for other kinds.
	byBlock                    bool
	tablePrompt, formulaPrompt string
	system                     string // the system's message, if it wants one
}

// noRepeats are vLLM's fields against repetitions in the models that DeepSeek's processor is made for.
func noRepeats(size, window int) map[string]any {
	return map[string]any{"skip_special_tokens": false, "vllm_xargs": map[string]any{
		"ngram_size": size, "window_size": window, "whitelist_token_ids": []int{128821, 128822}}}
}

const chandraPrompt = `OCR this image to HTML, arranged as layout blocks. Each layout block should be a div with the data-bbox ` +
	`attribute representing the bounding box of the block in [x0, y0, x1, y1] format. Bboxes are normalized. The data-label ` +
	`attribute is the label for the block.`

const dotsPrompt = `<|img|><|imgpad|><|endofimg|>Please output the layout information from the PDF image, including each layout ` +
	`element's bbox, its category, and the corresponding text content within the bbox.

1. Bbox format: [x1, y1, x2, y2]

2. Layout Categories: The possible categories are ['Caption', 'Footnote', 'Formula', 'List-item', 'Page-footer', 'Page-header', ` +
	`'Picture', 'Section-header', 'Table', 'Text', 'Title'].

3. Text Extraction & Formatting Rules:
    - Picture: For the 'Picture' category, the text field should be omitted.
    - Formula: Format its text as LaTeX.
    - Table: Format its text as HTML.
    - All Others (Text, Title, etc.): Format their text as Markdown.

4. Constraints:
    - The output text must be the original text from the image, with no translation.
    - All layout elements must be sorted according to human reading order.

5. Final Output: The entire output must be a single JSON object.
`

const olmocrPrompt = `Attached is one page of a document that you must process. Just return the plain text representation of this ` +
	`document as if you were reading it naturally. Convert equations to LateX and tables to HTML.
If there are any figures or charts, label them with the following markdown syntax ` +
	`![Alt text describing the contents of the figure](page_startx_starty_width_height.png)
Return your output as markdown, with a front matter section on top specifying values for the primary_language, is_rotation_valid, ` +
	`rotation_correction, is_table, and is_diagram parameters.`

var profiles = map[string]profile{
	"deepseek-ocr": {prompt: "<|grounding|>Convert the document to markdown.", maxTokens: 7500, longestSide: 1540, scale: 999,
		format: answer.Grounded, extra: noRepeats(30, 90)},
	"unlimited-ocr": {prompt: "<image>document parsing.", textFirst: true, maxTokens: 8192, longestSide: 1540, scale: 999,
		format: answer.Grounded, extra: noRepeats(35, 128)},
	"dots.ocr": {prompt: dotsPrompt, maxTokens: 16384, temperature: 0.1, longestSide: 2340, scale: pixels, format: answer.DotsJSON,
		extra: map[string]any{"top_p": 0.9}},
	"chandra-1": {prompt: chandraPrompt, maxTokens: 12384, longestSide: 2048, scale: 1024, format: answer.HTML,
		extra: map[string]any{"top_p": 0.1}},
	"chandra-2": {prompt: chandraPrompt, maxTokens: 12384, longestSide: 2048, scale: 1000, format: answer.HTML,
		extra: map[string]any{"top_p": 0.1}},
	"granite-docling": {prompt: "Convert this page to docling.", maxTokens: 8192, longestSide: 1584, scale: 500,
		format: answer.DocTags, extra: map[string]any{"skip_special_tokens": false,
			"stop": []string{"</doctag>", "<|end_of_text|>"}}},
	"olmocr": {prompt: olmocrPrompt, textFirst: true, maxTokens: 8000, temperature: 0.1, longestSide: 1288, scale: pixels,
		format: answer.Markdown},
	"qwen3-vl": {prompt: "qwenvl html", maxTokens: 8192, longestSide: 1540, scale: 1000, format: answer.HTML},
	"paddleocr-vl": {prompt: "OCR:", tablePrompt: "Table Recognition:", formulaPrompt: "Formula Recognition:", byBlock: true,
		maxTokens: 4096, longestSide: 1600, scale: pixels, format: answer.Markdown},
	"glm-ocr": {prompt: "Text Recognition:", tablePrompt: "Table Recognition:", formulaPrompt: "Formula Recognition:", byBlock: true,
		maxTokens: 8192, longestSide: 1600, scale: pixels, format: answer.Markdown,
		extra: map[string]any{"top_p": 0.00001, "top_k": 1, "repetition_penalty": 1.1}},
	"mineru2.5": {prompt: "\nText Recognition:", tablePrompt: "\nTable Recognition:", formulaPrompt: "\nFormula Recognition:", byBlock: true,
		system: "You are a helpful assistant.", maxTokens: 4096, longestSide: 1600, scale: pixels, format: answer.Markdown,
		extra: map[string]any{"presence_penalty": 1.0, "frequency_penalty": 0.05, "skip_special_tokens": false,
			"vllm_xargs": map[string]any{"no_repeat_ngram_size": 100}}},
	"markdown": {prompt: "Convert this page to markdown. Do not miss any text and only output the bare markdown!",
		maxTokens: 8192, longestSide: 1540, scale: pixels, format: answer.Markdown},
}

// profileNames returns the names of the profiles, sorted.
func profileNames() []string { return slices.Sorted(maps.Keys(profiles)) }

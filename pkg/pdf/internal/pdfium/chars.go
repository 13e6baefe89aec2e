package pdfium

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// A page of text takes some 7,000 calls to PDFium, for a few facts about each character, and the way from here into
// its module and back costs more than most answers do. So the loop over the characters is a small module of its own,
// that shares PDFium's memory and calls its functions from inside: 1 call for 512 characters. In WebAssembly's text
// format it is
//
//	(func (param $page i32) (param $i i32) (param $n i32) (param $out i32) (local $rune i32) (local $flags i32)
//	  (block (loop
//	    (br_if 1 (i32.eqz (local.get $n)))
//	    (i32.store offset=0 (local.get $out) (local.tee $rune (call $GetUnicode (local.get $page) (local.get $i))))
//	    (local.set $flags (i32.const 0))
//	    ;; only these can be generated, so only they are asked
//	    (if (i32.or (i32.or (i32.eq (local.get $rune) (i32.const 32)) (i32.eq … (i32.const 13))) (i32.eq … (i32.const 10)))
//	      (then (local.set $flags (i32.eq (call $IsGenerated (local.get $page) (local.get $i)) (i32.const 1)))))
//	    (if (local.get $flags)
//	      (then (if (i32.eq (local.get $rune) (i32.const 32)) (then
//	        (flag charBefore (call $GetLooseCharBox (local.get $page) (i - 1) (out + 16)))
//	        (flag charAfter  (call $GetLooseCharBox (local.get $page) (i + 1) (out + 32))))))
//	      (else
//	        (i32.store offset=4 (local.get $out) (call $GetTextObject (local.get $page) (local.get $i)))
//	        (if (i32.eqz (i32.and (local.get $i) (i32.const 3))) (then
//	          (flag charUnmapped (i32.eq (call $HasUnicodeMapError (local.get $page) (local.get $i)) (i32.const 1)))))
//	        (flag charBoxed (call $GetCharBox (local.get $page) (local.get $i) (out + 16) (out + 24) (out + 32) (out + 40)))))
//	    (i32.store offset=8 (local.get $out) (local.get $flags))
//	    (i += 1) (n -= 1) (out += 48)
//	    (br 0))))
//
// where (flag bit value) adds the bit to $flags if the value is not 0. An index off the page is no trouble: PDFium
// answers "no box".
const (
	charBatch = 512
	charSize  = 48 // of a character's record: rune, text object, flags, nothing, and the box or the two loose boxes around a blank
)

// The flags of a record.
const (
	charGenerated = 1 << iota
	charUnmapped
	charBoxed // its box stands in the record, as 4 doubles: left, right, bottom, top
	// The loose boxes of the characters before and after a generated blank stand in the record, as 4 floats each.
	charBefore
	charAfter
)

// charFunctions are what the loop calls, in the order of its imports.
var charFunctions = [...]function{fnTextUnicode, fnTextIsGenerated, fnTextObject, fnTextUnicodeError, fnTextCharBox,
	fnTextLooseBox}

// The indexes of charFunctions.
const (
	loopUnicode = iota
	loopGenerated
	loopObject
	loopUnmapped
	loopBox
	loopLoose
)

// buildCharModule returns the module of the loop. WebAssembly's numbers are LEB128; each below fits one byte.
func buildCharModule() []byte {
	const (
		i32                         = 0x7F
		funcType, funcImport        = 0x60, 0x00
		memoryImport, exportFunc    = 0x02, 0x00
		secType, secImport, secFunc = 1, 2, 3
		secExport, secCode          = 7, 10
	)
	sized := func(b ...byte) []byte { return append([]byte{byte(len(b))}, b...) } //nolint:gosec // short names
	section := func(id byte, b []byte) []byte {
		return append(binary.AppendUvarint([]byte{id}, uint64(len(b))), b...)
	}
	join := func(parts ...[]byte) (out []byte) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	// The types: (page, i), (page, i, out) and (page, i, 4 × out) to a number, and that of the loop itself.
	types := []byte{
		4,
		funcType, 2, i32, i32, 1, i32,
		funcType, 3, i32, i32, i32, 1, i32,
		funcType, 6, i32, i32, i32, i32, i32, i32, 1, i32,
		funcType, 4, i32, i32, i32, i32, 0,
	}
	const loopType = 3
	typeOf := [...]byte{loopUnicode: 0, loopGenerated: 0, loopObject: 0, loopUnmapped: 0, loopBox: 2, loopLoose: 1}
	imports := join([]byte{byte(len(charFunctions) + 1)}, sized([]byte(pdfiumName)...), sized([]byte("memory")...),
		[]byte{memoryImport, 0, 0})
	for i, f := range charFunctions {
		imports = join(imports, sized([]byte(pdfiumName)...), sized([]byte(functionNames[f])...),
			[]byte{funcImport, typeOf[i]})
	}
	const locals = 2
	body := join([]byte{1, locals, i32}, charLoopCode())
	return join(
		[]byte("\x00asm\x01\x00\x00\x00"),
		section(secType, types),
		section(secImport, imports),
		section(secFunc, []byte{1, loopType}),
		section(secExport, join([]byte{1}, sized([]byte(charLoopName)...), []byte{exportFunc, byte(len(charFunctions))})),
		section(secCode, join([]byte{1}, binary.AppendUvarint(nil, uint64(len(body))), body)),
	)
}

const (
	pdfiumName   = "pdfium"
	charLoopName = "chars"
)

// charLoopCode returns the instructions of the loop.
func charLoopCode() []byte {
	const (
		page, index, left, out, char, flags = 0, 1, 2, 3, 4, 5 // its parameters and locals

		opBlock, opLoop, opIf, opElse, opEnd, opBr, opBrIf  = 0x02, 0x03, 0x04, 0x05, 0x0B, 0x0C, 0x0D
		opCall, opGet, opSet, opTee, opConst, opStore       = 0x10, 0x20, 0x21, 0x22, 0x41, 0x36
		opEqz, opEq, opNe, opAdd, opSub, opMul, opAnd, opOr = 0x45, 0x46, 0x47, 0x6A, 0x6B, 0x6C, 0x71, 0x72

		void, word = 0x40, 2 // a block without a result; the alignment of 4 bytes
	)
	get := func(local byte) []byte { return []byte{opGet, local} }
	plus := func(local, n byte) []byte { return []byte{opGet, local, opConst, n, opAdd} }
	is := func(c byte) []byte { return []byte{opGet, char, opConst, c, opEq} }
	step := func(local, op, n byte) []byte { return []byte{opGet, local, opConst, n, op, opSet, local} }
	call := func(f byte, args ...[]byte) (code []byte) {
		code = append(get(page), get(index)...)
		for _, a := range args {
			code = append(code, a...)
		}
		return append(code, opCall, f)
	}
	// flag adds a bit to the flags if what code leaves on the stack is not 0.
	flag := func(bit byte, code []byte) []byte {
		return append(code, opConst, 0, opNe, opConst, bit, opMul, opGet, flags, opOr, opSet, flags)
	}
	neighbour := func(op, bit, at byte) []byte {
		return flag(bit, append([]byte{opGet, page, opGet, index, opConst, 1, op},
			append(plus(out, at), opCall, loopLoose)...))
	}
	var code []byte
	emit := func(parts ...[]byte) {
		for _, p := range parts {
			code = append(code, p...)
		}
	}
	emit([]byte{opBlock, void, opLoop, void}, get(left), []byte{opEqz, opBrIf, 1})
	emit(get(out), call(loopUnicode), []byte{opTee, char, opStore, word, 0})
	emit([]byte{opConst, 0, opSet, flags})
	emit(is(' '), is('\r'), []byte{opOr}, is('\n'), []byte{opOr, opIf, void})
	emit(call(loopGenerated), []byte{opConst, 1, opEq, opSet, flags, opEnd})
	emit(get(flags), []byte{opIf, void}, is(' '), []byte{opIf, void})
	emit(neighbour(opSub, charBefore, 16), neighbour(opAdd, charAfter, 32), []byte{opEnd, opElse})
	emit(get(out), call(loopObject), []byte{opStore, word, 4})
	emit(get(index), []byte{opConst, mappingSampleStep - 1, opAnd, opEqz, opIf, void})
	emit(flag(charUnmapped, append(call(loopUnmapped), opConst, 1, opEq)), []byte{opEnd})
	emit(flag(charBoxed, call(loopBox, plus(out, 16), plus(out, 24), plus(out, 32), plus(out, 40))), []byte{opEnd})
	emit(get(out), get(flags), []byte{opStore, word, 8})
	emit(step(index, opAdd, 1), step(left, opSub, 1), step(out, opAdd, charSize), []byte{opBr, 0, opEnd, opEnd, opEnd})
	return code
}

// linkCharLoop gives an instance the loop.
func (in *Instance) linkCharLoop(ctx context.Context) error {
	ctx = experimental.WithImportResolver(ctx, func(name string) api.Module {
		if name == pdfiumName {
			return in.mod
		}
		return nil
	})
	loop, err := in.runtime.runtime.InstantiateModule(ctx, in.runtime.chars, moduleConfig())
	if err != nil {
		return fmt.Errorf("instantiate the loop over characters: %w", err)
	}
	in.charLoop, in.readCharsFunction = loop, loop.ExportedFunction(charLoopName)
	return nil
}

// readCharBatch fills the records of the characters from first on, in records. It uses the room at p in the module's
// memory, of the same size.
func (in *Instance) readCharBatch(page, p uint64, first int, records []byte) {
	in.stack[0], in.stack[1], in.stack[2], in.stack[3] = page, uint64(first), uint64(len(records)/charSize), p
	if err := in.readCharsFunction.CallWithStack(in.ctx, in.stack[:]); err != nil {
		panic(&Trap{Function: "the loop over characters", Memory: in.limit.denied, Err: err})
	}
	copy(records, in.memoryView(p, len(records)))
}

// charRecord is what the loop wrote of a character. What does not apply to it, as the text object of a generated one,
// is left as it was in memory.
type charRecord []byte

func (r charRecord) codePoint() rune    { return rune(binary.LittleEndian.Uint32(r)) } //nolint:gosec // checked by who reads it
func (r charRecord) textObject() uint64 { return uint64(binary.LittleEndian.Uint32(r[4:])) }
func (r charRecord) charFlags() uint32  { return binary.LittleEndian.Uint32(r[8:]) }

// tightBox is the box of a character that is charBoxed.
func (r charRecord) tightBox() Rect {
	at := func(i int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(r[16+8*i:])) }
	return Rect{Left: at(0), Right: at(1), Bottom: at(2), Top: at(3)}
}

// glyphBox is the box of a character; empty where it has none.
func (r charRecord) glyphBox() Rect {
	if r.charFlags()&charBoxed == 0 {
		return Rect{}
	}
	if box := r.tightBox(); box.IsFinite() {
		return box
	}
	return Rect{}
}

// looseNeighbours are the loose boxes of the characters around a generated blank, if they have any.
func (r charRecord) looseNeighbours() (before, after Rect, ok bool) {
	before, after = parseLooseBox(r[16:]), parseLooseBox(r[32:])
	return before, after, r.charFlags()&charBefore != 0 && r.charFlags()&charAfter != 0 && isUsableRect(before) &&
		isUsableRect(after)
}

// parseLooseBox reads an FS_RECTF: left, top, right, bottom.
func parseLooseBox(b []byte) Rect {
	at := func(i int) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))) }
	return Rect{Left: at(0), Top: at(1), Right: at(2), Bottom: at(3)}
}

func isUsableRect(r Rect) bool { return r.IsFinite() && !r.IsEmpty() }

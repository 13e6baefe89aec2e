package textlayer

import "inkstream.dev/pkg/pdf/internal/structure"

func name(s string) structure.Value { return structure.Value{Kind: structure.Name, Raw: []byte(s)} }

func text(s string) structure.Value { return structure.Value{Kind: structure.String, Text: []byte(s)} }

func number(v float64) structure.Value {
	return structure.Value{Kind: structure.Number, Raw: appendNumber(nil, v, 2), Num: int64(v)}
}

func array(v ...structure.Value) structure.Value {
	return structure.Value{Kind: structure.Array, List: v}
}

func dict(v ...any) structure.Value {
	d := structure.Value{Kind: structure.Dict}
	for i := 0; i+1 < len(v); i += 2 {
		d.Entries = append(d.Entries, structure.Entry{Key: v[i].(string), Value: v[i+1].(structure.Value)})
	}
	return d
}

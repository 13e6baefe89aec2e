package textlayer

import "inkstream.dev/pkg/pdf/internal/structure"

func nameValue(s string) structure.Value {
	return structure.Value{Kind: structure.Name, Raw: []byte(s)}
}

func stringValue(s string) structure.Value {
	return structure.Value{Kind: structure.String, Text: []byte(s)}
}

func numberValue(v float64) structure.Value {
	return structure.Value{Kind: structure.Number, Raw: appendNumber(nil, v, 2), Num: int64(v)}
}

func arrayValue(v ...structure.Value) structure.Value {
	return structure.Value{Kind: structure.Array, List: v}
}

func dictValue(v ...any) structure.Value {
	d := structure.Value{Kind: structure.Dict}
	for i := 0; i+1 < len(v); i += 2 {
		d.Entries = append(d.Entries, structure.Entry{Key: v[i].(string), Value: v[i+1].(structure.Value)})
	}
	return d
}

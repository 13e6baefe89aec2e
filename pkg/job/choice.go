package job

import "encoding/json"

// Choice is an option that is on unless the client turns it off; the zero value is on.
type Choice struct{ off bool }

// TurnedOff returns the choice of a client that turned the option off.
func TurnedOff() Choice { return Choice{off: true} }

// IsOn reports whether the option is on.
func (c Choice) IsOn() bool { return !c.off }

// MarshalJSON writes whether the option is off: under names such as noTables, as records have always held it, so that
// they, the keys of contents and the fingerprints of uploads are the same in every version.
func (c Choice) MarshalJSON() ([]byte, error) { return json.Marshal(c.off) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Choice) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &c.off) }

package job

import "time"

// SetWatchAge sets how long a scanner keeps a watch.
func (s *RecordScanner) SetWatchAge(d time.Duration) { s.maxAge = d }

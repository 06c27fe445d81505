package sandbox

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// lineLimit is in bytes. In JSON a byte of a request can become six.
const lineLimit = 8 * bodyLimit

var errLineTooLong = errors.New("a line is too long for a ledger")

// eachLine calls do with each line that has its end, the end included, and
// returns what is left behind the last one. The line is valid until do returns.
func eachLine(r io.Reader, do func(line []byte) error) (rest []byte, err error) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(make([]byte, 0, 64<<10), lineLimit)
	scanner.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if end := bytes.IndexByte(data, '\n') + 1; end > 0 {
			return end, data[:end], nil
		}
		if atEOF {
			rest = append(rest, data...)
			return len(data), nil, nil
		}
		return 0, nil, nil
	})
	for scanner.Scan() {
		if err := do(scanner.Bytes()); err != nil {
			return nil, err
		}
	}
	if err := scanner.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, errLineTooLong
	} else if err != nil {
		return nil, err
	}
	return rest, nil
}

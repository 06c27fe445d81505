package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"
)

// number is a JSON number. It prints its digits as the payload had them, compares with numbers of any
// form, and works with every verb for numbers. It is a slice because a template takes an empty slice
// for false: the slice of a zero is empty, and its digits are behind its end.
type number []json.Number

func newNumber(digits json.Number) number {
	mantissa, _, _ := strings.Cut(strings.ToLower(digits.String()), "e")
	if strings.Trim(mantissa, "-0.") == "" {
		return number{digits}[:0]
	}
	return number{digits}
}

func (n number) digits() string { return n[:1][0].String() }

// MarshalJSON returns the digits, for a script of an HTML template.
func (n number) MarshalJSON() ([]byte, error) { return []byte(n.digits()), nil }

// maxDigits limits numbers to compute with, because 1e999999999 would fill the memory.
const maxDigits = 1000

var (
	errNumber   = errors.New("not a number, or one with more than 1,000 digits")
	errFraction = errors.New("not a whole number")
)

// exactly returns the value of a number in JSON's form.
func exactly(digits string) (*big.Rat, error) {
	_, exponent, _ := strings.Cut(strings.ToLower(digits), "e")
	size, err := strconv.Atoi("0" + strings.TrimLeft(exponent, "+-"))
	if err != nil || size > maxDigits || len(digits) > maxDigits {
		return nil, errNumber
	}
	value, ok := new(big.Rat).SetString(digits)
	if !ok {
		return nil, errNumber
	}
	return value, nil
}

// numeric returns the value of a number of any form: of the payload, or a constant or a length of the
// template. A constant with a fraction means its digits: 0.1 is a tenth.
func numeric(value any) (result *big.Rat, isNumber bool, err error) {
	if n, ok := value.(number); ok {
		result, err = exactly(n.digits())
		return result, true, err
	}
	switch v := reflect.ValueOf(value); {
	case v.CanInt():
		return new(big.Rat).SetInt64(v.Int()), true, nil
	case v.CanUint():
		return new(big.Rat).SetUint64(v.Uint()), true, nil
	case v.CanFloat():
		result, err = exactly(strconv.FormatFloat(v.Float(), 'g', -1, 64))
		return result, true, err
	default:
		return nil, false, nil
	}
}

// whole returns a number that counts or names a place in a list.
func whole(value any) (int64, error) {
	exact, isNumber, err := numeric(value)
	switch {
	case err != nil:
		return 0, err
	case !isNumber || !exact.IsInt() || !exact.Num().IsInt64():
		return 0, errFraction
	default:
		return exact.Num().Int64(), nil
	}
}

// Format implements [fmt.Formatter].
func (n number) Format(s fmt.State, verb rune) {
	precision, limited := s.Precision()
	value, ok := n.operand(verb, precision, limited)
	switch {
	case !ok:
		value = n.digits() // only printf uses such a verb, which refuses it
	case verb == 'v':
		value = n.signed(s)
	}
	_, _ = fmt.Fprintf(s, fmt.FormatString(s, verb), value)
}

// signed returns the digits with the sign and the zeros that the flags of %v ask for.
func (n number) signed(s fmt.State) string {
	sign, digits := "", n.digits()
	switch positive := !strings.HasPrefix(digits, "-"); {
	case !positive:
		sign, digits = "-", digits[1:]
	case s.Flag('+'):
		sign = "+"
	case s.Flag(' '):
		sign = " "
	}
	if width, _ := s.Width(); s.Flag('0') && !s.Flag('-') {
		digits = strings.Repeat("0", max(0, width-len(sign)-len(digits))) + digits
	}
	return sign + digits
}

// operand returns the value whose form for the verb is the number's form. ok is false if the verb does
// not fit the number.
func (n number) operand(verb rune, precision int, limited bool) (value any, ok bool) {
	switch verb {
	case 'v', 's', 'q':
		return n.digits(), !limited // a precision would cut digits off
	case 'd', 'o', 'O', 'b', 'x', 'X', 'c', 'U':
		return n.integer(verb)
	case 'f', 'F':
		if !limited {
			precision = 6 // as for every other number
		}
		return n.rounded(precision)
	case 'e', 'E', 'g', 'G':
		exact, err := exactly(n.digits())
		if err != nil {
			return nil, false
		}
		return binary(exact), true
	default:
		return nil, false
	}
}

func (n number) integer(verb rune) (value any, ok bool) {
	exact, err := exactly(n.digits())
	switch {
	case err != nil:
		return nil, false
	case !exact.IsInt():
		float, _ := exact.Float64()
		return float, strings.ContainsRune("bxX", verb) // the verbs for numbers with a fraction, too
	case exact.Num().IsInt64():
		return exact.Num().Int64(), true
	default:
		return exact.Num(), verb != 'c' && verb != 'U'
	}
}

// rounded returns the number with so many decimals. It rounds the digits, as people do: 1.005 with two
// decimals is 1.01, although no binary fraction is exactly 1.005.
func (n number) rounded(decimals int) (value any, ok bool) {
	exact, err := exactly(n.digits())
	if err != nil {
		return nil, false
	}
	near, _ := exactly(exact.FloatString(decimals))
	if near.Sign() == 0 && exact.Sign() < 0 {
		return new(big.Float).Neg(new(big.Float)), true // -0.00
	}
	return binary(near), true
}

// binary returns a fraction with enough bits to print its digits.
func binary(exact *big.Rat) *big.Float {
	bits := uint(exact.Num().BitLen() + 64)
	return new(big.Float).SetPrec(bits + 3*uint(exact.Denom().BitLen())).SetRat(exact)
}

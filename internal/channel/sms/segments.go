package sms

import (
	"strings"
	"unicode/utf16"
)

// The characters of GSM 03.38, and the characters of its extension, which take two places each.
const (
	gsm = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ " +
		"!\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
	extension = "^{}\\[~]|€"
)

// IsGSM reports whether a text has only characters of GSM 03.38. Providers send any other text as
// Unicode, which fits less than half as many characters into a segment.
func IsGSM(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune(gsm+extension, r) }) < 0
}

// Segments returns the number of messages that a text takes on the network; providers charge for each.
// With several segments, each segment has less room. No segment ends within a character.
func Segments(text string) int {
	single, part, places := 160, 153, gsmPlaces
	if !IsGSM(text) {
		single, part, places = 70, 67, utf16.RuneLen
	}
	total, segments, used := 0, 1, 0
	for _, r := range text {
		n := max(1, places(r))
		if used+n > part {
			segments, used = segments+1, 0
		}
		total, used = total+n, used+n
	}
	if total <= single {
		return 1
	}
	return segments
}

func gsmPlaces(r rune) int {
	if strings.ContainsRune(extension, r) {
		return 2
	}
	return 1
}

package main

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// picture is a page, or a row of pages.
type picture struct{ *image.RGBA }

const (
	// scale is by how much the pictures of testdata/ are smaller than the page.
	scale = 4
	// near is how far a colour may be from the picture's, of 255, over an area of 3 x 3 pixels
	// of a small picture. Browsers draw letters a little differently.
	near = 40
	// few is how many areas may differ.
	few = 3
)

// picture takes a picture of the page as it is.
func (tab *tab) picture() picture {
	tab.t.Helper()
	shot, err := chromedp.Run(tab.ctx, chromedp.CaptureScreenshot())
	require.NoError(tab.t, err)
	return decoded(tab.t, shot)
}

func decoded(t *testing.T, text []byte) picture {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(text))
	require.NoError(t, err)
	into := image.NewRGBA(image.Rectangle{Max: from.Bounds().Size()})
	draw.Draw(into, into.Rect, from, from.Bounds().Min, draw.Src)
	return picture{into}
}

// mean is the mean colour of a square.
func (p picture) mean(x, y, side int) color.RGBA {
	var sum [3]int
	for i := range side * side {
		c := p.RGBAAt(x+i%side, y+i/side)
		sum[0], sum[1], sum[2] = sum[0]+int(c.R), sum[1]+int(c.G), sum[2]+int(c.B)
	}
	n := side * side
	return color.RGBA{uint8(sum[0] / n), uint8(sum[1] / n), uint8(sum[2] / n), 255}
}

// small is the picture as testdata/ has it.
func (p picture) small() picture {
	into := image.NewRGBA(image.Rect(0, 0, p.Rect.Dx()/scale, p.Rect.Dy()/scale))
	for y := range into.Rect.Dy() {
		for x := range into.Rect.Dx() {
			into.SetRGBA(x, y, p.mean(x*scale, y*scale, scale))
		}
	}
	return picture{into}
}

// row puts pictures into a row.
func row(all []picture) picture {
	var size image.Point
	for _, p := range all {
		size.X += p.Rect.Dx() + scale
		size.Y = max(size.Y, p.Rect.Dy())
	}
	into, x := image.NewRGBA(image.Rectangle{Max: size}), 0
	draw.Draw(into, into.Rect, image.White, image.Point{}, draw.Src)
	for _, p := range all {
		draw.Draw(into, p.Rect.Add(image.Pt(x, 0)), p, image.Point{}, draw.Src)
		x += p.Rect.Dx() + scale
	}
	return picture{into}
}

// requireLike compares the picture with a file, as small as the pictures of testdata/ are. With
// -write-pictures it writes the file, unless they are alike.
func (p picture) requireLike(t *testing.T, path string, small func(picture) picture) {
	t.Helper()
	content, err := os.ReadFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err)
	}
	if err == nil && small(p).differs(small(decoded(t, content))) <= few {
		return
	}
	if !*writePictures {
		now := filepath.Join(os.TempDir(), "herald-"+filepath.Base(path))
		p.write(t, now)
		require.Failf(t, "the page has changed", "compare %s with %s; to accept the change, add -write-pictures", path, now)
	}
	p.write(t, path)
}

// differs counts the areas in which two pictures are not alike.
func (p picture) differs(other picture) (areas int) {
	if p.Rect != other.Rect {
		return p.Rect.Dx() * p.Rect.Dy()
	}
	for y := range p.Rect.Dy() - 2 {
		for x := range p.Rect.Dx() - 2 {
			if apart(p.mean(x, y, 3), other.mean(x, y, 3)) > near {
				areas++
			}
		}
	}
	return areas
}

func apart(a, b color.RGBA) uint8 {
	return max(max(a.R, b.R)-min(a.R, b.R), max(a.G, b.G)-min(a.G, b.G), max(a.B, b.B)-min(a.B, b.B))
}

func (p picture) write(t *testing.T, path string) {
	t.Helper()
	var text bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	require.NoError(t, encoder.Encode(&text, p))
	require.NoError(t, os.WriteFile(path, text.Bytes(), 0o644))
}

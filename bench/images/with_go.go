// The benchmark's work done by Go's standard library and a box filter:
// ROW FILE TIMES.
package main

import (
	"bytes"
	"fmt"
	"image"
	"image/draw"
	"image/jpeg"
	_ "image/png"
	"os"
	"strconv"
	"strings"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func rgba(source image.Image) *image.RGBA {
	bounds := source.Bounds()
	out := image.NewRGBA(image.Rect(0, 0, bounds.Dx(), bounds.Dy()))
	draw.Draw(out, out.Bounds(), source, bounds.Min, draw.Src)
	return out
}

// box averages the source pixels that lie under each target pixel.
func box(source *image.RGBA, width, height int) *image.RGBA {
	out := image.NewRGBA(image.Rect(0, 0, width, height))
	sw, sh := source.Bounds().Dx(), source.Bounds().Dy()
	for y := 0; y < height; y++ {
		y0, y1 := y*sh/height, (y+1)*sh/height
		for x := 0; x < width; x++ {
			x0, x1 := x*sw/width, (x+1)*sw/width
			var sum [4]int
			for sy := y0; sy < y1; sy++ {
				row := source.Pix[sy*source.Stride+x0*4 : sy*source.Stride+x1*4]
				for i := 0; i < len(row); i += 4 {
					sum[0] += int(row[i])
					sum[1] += int(row[i+1])
					sum[2] += int(row[i+2])
					sum[3] += int(row[i+3])
				}
			}
			count := (x1 - x0) * (y1 - y0)
			at := y*out.Stride + x*4
			for c := 0; c < 4; c++ {
				out.Pix[at+c] = uint8(sum[c] / count)
			}
		}
	}
	return out
}

func encode(source image.Image, quality int) []byte {
	var out bytes.Buffer
	check(jpeg.Encode(&out, source, &jpeg.Options{Quality: quality}))
	return out.Bytes()
}

func ladder(source image.Image, budget int) []byte {
	for {
		for _, quality := range []int{85, 65, 45, 30} {
			if data := encode(source, quality); len(data) <= budget {
				return data
			}
		}
		whole := rgba(source)
		source = box(whole, whole.Bounds().Dx()/2, whole.Bounds().Dy()/2)
	}
}

func work(row string, data []byte) []byte {
	source, _, err := image.Decode(bytes.NewReader(data))
	check(err)
	switch row {
	case "photo-1568", "screen-1568", "prog-1568":
		whole := rgba(source)
		width, height := whole.Bounds().Dx(), whole.Bounds().Dy()
		return encode(box(whole, 1568, height*1568/width), 85)
	case "photo-1MB":
		return ladder(source, 1_000_000)
	case "photo-100kB":
		return ladder(source, 100_000)
	}
	return encode(source, 85)
}

func main() {
	row := os.Args[1]
	data, err := os.ReadFile(os.Args[2])
	check(err)
	times, err := strconv.Atoi(os.Args[3])
	check(err)
	var out []byte
	for i := 0; i < times; i++ {
		out = work(row, data)
	}
	if times > 0 {
		fmt.Println(len(out))
	}
	status, err := os.ReadFile("/proc/self/status")
	check(err)
	for _, line := range strings.Split(string(status), "\n") {
		if strings.HasPrefix(line, "VmHWM") {
			fmt.Println(line)
		}
	}
}

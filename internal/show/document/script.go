package document

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"

	"redline/internal/show/chart"
)

var (
	//go:embed assets/uplot.js
	plotJS string
	//go:embed assets/uplot.css
	plotCSS string
	//go:embed assets/page.js
	pageJS string
)

// chartID names a chart by its section, the block in it and its place there.
func chartID(section, block, chart int) string {
	return fmt.Sprintf("s%d-%d-chart%d", section, block, chart)
}

func figureID(chart string) string { return chart + "-figure" }

// chartData are the charts that a script can draw, by the ids of their figures.
func chartData(d *Document) map[string]*chart.Data {
	all := map[string]*chart.Data{}
	for i, s := range d.Sections {
		for j, b := range s.Blocks {
			charts := chartsOf(b)
			for k := range charts {
				if data := charts[k].Data(); data != nil {
					all[figureID(chartID(i, j, k))] = data
				}
			}
		}
	}
	return all
}

// Zooms reports whether a script draws the first chart of a block; only of the
// first such block, for a page says once how that works.
func (p *page) Zooms(section, block int) bool {
	if p.hinted || p.data[figureID(chartID(section, block, 0))] == nil {
		return false
	}
	p.hinted = true
	return true
}

// Policy lets the page load nothing and run only the script that it holds.
func (p *page) Policy() string {
	policy := "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
	if len(p.data) > 0 {
		hash := sha256.Sum256([]byte(plotJS + pageJS))
		policy += "; script-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"
	}
	return policy
}

// Script is the data of the charts and what draws them; nothing where there are
// none. The data may hold names from outside: as JSON it has no angle bracket that
// could end it.
func (p *page) Script() (template.HTML, error) {
	data, err := p.dataBlock()
	if err != nil || data == "" {
		return "", err
	}
	return template.HTML(data + "<script>" + plotJS + pageJS + "</script>"), nil
}

// dataBlock is the data alone, which no browser runs.
func (p *page) dataBlock() (string, error) {
	if len(p.data) == 0 {
		return "", nil
	}
	data, err := json.Marshal(p.data)
	if err != nil {
		return "", fmt.Errorf("the data of the charts: %w", err)
	}
	return `<script type="application/json" id="chart-data">` + string(data) + "</script>\n", nil
}

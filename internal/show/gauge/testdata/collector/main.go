// Command collector runs the OpenTelemetry collector's own OTLP receiver and prints
// what it understood: a line of JSON for each data point. It is a module of its own, so
// that none of it is in redline.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(endpoint string) error {
	ctx := context.Background()
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	conf := confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{"http": map[string]any{"endpoint": endpoint}}})
	if err := conf.Unmarshal(config); err != nil {
		return err
	}
	sink, err := consumer.NewMetrics(show)
	if err != nil {
		return err
	}
	settings := receiver.Settings{ID: component.NewID(factory.Type()), TelemetrySettings: componenttest.NewNopTelemetrySettings(), BuildInfo: component.NewDefaultBuildInfo()}
	r, err := factory.CreateMetrics(ctx, settings, config, sink)
	if err != nil {
		return err
	}
	if err := r.Start(ctx, componenttest.NewNopHost()); err != nil {
		return err
	}
	fmt.Println(`{"ready":true}`)
	_, _ = os.Stdin.Read(make([]byte, 1)) // until the test closes it
	return r.Shutdown(ctx)
}

func show(_ context.Context, metrics pmetric.Metrics) error {
	out := json.NewEncoder(os.Stdout)
	for _, resource := range metrics.ResourceMetrics().All() {
		service, _ := resource.Resource().Attributes().Get("service.name")
		for _, scope := range resource.ScopeMetrics().All() {
			for _, m := range scope.Metrics().All() {
				for _, p := range m.Gauge().DataPoints().All() {
					if err := out.Encode(map[string]any{"service": service.Str(), "name": m.Name(), "unit": m.Unit(), "value": p.DoubleValue(),
						"ns": p.Timestamp(), "labels": p.Attributes().AsRaw()}); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package admin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// Target is the part of what the name servers know that a call is about. The zero
// Target is the only cluster there is.
type Target struct {
	Cluster string // by name
	Broker  string // one broker, by name or by the address of its master
}

// has tells whether a broker is in the target.
func (t Target) has(b Broker) bool {
	return (t.Cluster == "" || b.Cluster == t.Cluster) && (t.Broker == "" || b.Name == t.Broker || b.Addr == t.Broker)
}

// Broker is the master of a broker's name.
type Broker struct {
	Cluster, Name, Addr string
}

// String gives name and address.
func (b Broker) String() string { return b.Name + " (" + b.Addr + ")" }

// Clusters gives all brokers and the clusters they form.
func (a *Admin) Clusters(ctx context.Context) (*protocol.ClusterInfo, error) {
	resp, err := a.askNameServer(ctx, &remoting.Command{Code: protocol.GetBrokerClusterInfo})
	if err != nil {
		return nil, fmt.Errorf("ask for the clusters: %w", err)
	}
	return read[protocol.ClusterInfo](resp, "the clusters")
}

// Masters gives the masters of a target, sorted by name. No master is an error.
func (a *Admin) Masters(ctx context.Context, t Target) ([]Broker, error) {
	info, err := a.Clusters(ctx)
	if err != nil {
		return nil, err
	}
	masters, err := mastersOf(info, t)
	if err != nil {
		return nil, err
	}
	if len(masters) == 0 {
		return nil, fmt.Errorf("no broker with a master is registered%s", in(t.Cluster))
	}
	return masters, nil
}

func in(cluster string) string {
	if cluster == "" {
		return ""
	}
	return " in cluster " + cluster
}

// mastersOf chooses among all brokers.
func mastersOf(info *protocol.ClusterInfo, t Target) ([]Broker, error) {
	var all []Broker
	for _, b := range info.BrokerAddrTable {
		if b != nil && b.Master() != "" {
			all = append(all, Broker{Cluster: b.Cluster, Name: b.BrokerName, Addr: b.Master()})
		}
	}
	slices.SortFunc(all, func(a, b Broker) int { return cmp.Compare(a.Name, b.Name) })
	clusters := slices.Sorted(maps.Keys(info.ClusterAddrTable))
	switch {
	case t.Cluster != "" && !slices.Contains(clusters, t.Cluster):
		return nil, fmt.Errorf("no cluster is called %q: there %s", t.Cluster, list("is", "are", clusters))
	case t.Broker != "":
		return oneBroker(all, t)
	case t.Cluster == "" && len(clusters) > 1:
		return nil, fmt.Errorf("there are several clusters: choose one of %s", strings.Join(clusters, ", "))
	case t.Cluster == "":
		return all, nil
	}
	return slices.DeleteFunc(all, func(b Broker) bool { return b.Cluster != t.Cluster }), nil
}

func oneBroker(all []Broker, t Target) ([]Broker, error) {
	var names []string
	for _, b := range all {
		if t.Cluster != "" && b.Cluster != t.Cluster {
			continue
		}
		if b.Name == t.Broker || b.Addr == t.Broker {
			return []Broker{b}, nil
		}
		names = append(names, b.Name)
	}
	return nil, fmt.Errorf("no broker%s has the name or address %q: there %s", in(t.Cluster), t.Broker, list("is", "are", names))
}

// list says what there is: "is A", "are A, B", "is none".
func list(one, many string, names []string) string {
	switch len(names) {
	case 0:
		return one + " none"
	case 1:
		return one + " " + names[0]
	}
	return many + " " + strings.Join(names, ", ")
}

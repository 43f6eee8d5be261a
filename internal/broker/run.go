// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goddard-mq/goddard/internal/broker/delay"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/router"
)

// closeLanes bounds how long requests on lanes may still run at the end.
const closeLanes = 200 * time.Millisecond

// Run does what happens without a request: registering, delivering delayed messages, ending holds, telling members,
// writing progress. It returns when ctx ends or Shutdown was called.
func (b *Broker) Run(ctx context.Context) error {
	if !b.begin() {
		return nil
	}
	defer b.running.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(b.background, cancel)()

	parts := []func(context.Context) error{b.lot.Run, b.members.Run, b.offsets.Run, b.filters.Run, b.stats.Run, b.broadcast.Run, b.trouble.Run}
	if b.cfg.Load().Identity.ID == protocol.MasterID {
		parts = append(parts, func(ctx context.Context) error { return b.delay.Run(ctx, b.store) })
	}
	parts = append(parts, b.register)
	faults := make([]error, len(parts))
	var running sync.WaitGroup
	for i, part := range parts {
		running.Go(func() {
			if faults[i] = part(ctx); faults[i] != nil {
				cancel() // the others stop too
			}
		})
	}
	running.Wait()
	return errors.Join(faults...)
}

// register is the registrar's part of Run, which Leave ends before the others.
func (b *Broker) register(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(b.listed, cancel)()
	return b.registrar.run(ctx, b.topics)
}

// AwaitListed returns when every name server that can be reached knows this broker, which Run tells them, or ctx ends.
func (b *Broker) AwaitListed(ctx context.Context) {
	select {
	case <-b.registrar.begun:
		b.registrar.wait(ctx)
	case <-ctx.Done():
	}
}

// begin is false when Shutdown came first.
func (b *Broker) begin() bool {
	b.ending.Lock()
	defer b.ending.Unlock()
	if b.background.Err() != nil {
		return false
	}
	b.running.Add(1)
	return true
}

// endRun ends Run and waits for it; it does not begin afterwards.
func (b *Broker) endRun() {
	b.ending.Lock()
	b.end()
	b.ending.Unlock()
	b.running.Wait()
}

// stillThere is how often Leave looks whether clients are connected.
const stillThere = 20 * time.Millisecond

// Leave comes before Shutdown. With enableShutdownGracefully it takes leave of the name servers, answers GO_AWAY to all
// clients that understand it, which then go on with other brokers, serves the others, and returns when no client is
// connected any more or shutdownWaitTimeSeconds are over. Without, it does nothing.
func (b *Broker) Leave() {
	c := b.cfg.Load().Stop
	if !c.GoAway {
		return
	}
	b.log.Info("asking clients to go away", "wait", c.Wait)
	b.unlist()
	b.main.GoAway()
	b.fast.GoAway()
	connected := func() (n int) {
		for _, s := range b.servers {
			n += s.Conns()
		}
		return n
	}
	for end := time.Now().Add(c.Wait); time.Now().Before(end) && connected() > 0; {
		time.Sleep(min(stillThere, time.Until(end)))
	}
}

// Shutdown says goodbye, answers what is in hand until ctx ends (held pulls at once), stops the background and closes
// everything. What is on disk is in order when it returns. Further calls do nothing and give the same error.
func (b *Broker) Shutdown(ctx context.Context) error {
	b.stopping.Do(func() { b.stopped = b.shutdown(ctx) })
	return b.stopped
}

func (b *Broker) shutdown(ctx context.Context) error {
	b.lot.Close()
	var drained sync.WaitGroup
	for _, s := range b.servers {
		drained.Go(func() { _ = s.Shutdown(ctx) }) // its only error is that ctx ended
	}
	b.endRun()
	drained.Wait()
	for _, r := range []*router.Router{b.main, b.fast, b.slow} {
		r.Close(closeLanes)
	}
	return b.close()
}

// close closes what was opened, the store, whose lock guards the folder, last.
func (b *Broker) close() error {
	b.end()
	err := b.closeTables()
	if b.store != nil {
		if fault := b.store.Close(); fault != nil {
			err = errors.Join(err, fmt.Errorf("close the store: %w", fault))
		}
	}
	return err
}

// writeTables writes and closes the tables.
func (b *Broker) writeTables() error {
	var faults []error
	shut := func(what string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("close %s: %w", what, err))
		}
	}
	if b.offsets != nil {
		shut("consumer offsets", b.offsets.Flush())
	}
	if b.filters != nil {
		shut("filters of groups", b.filters.Flush())
	}
	if b.groups != nil {
		shut("consumer groups", b.groups.Close())
	}
	if b.topics != nil {
		shut("topics", b.topics.Close())
	}
	return errors.Join(faults...)
}

// levelTable keeps the parsed table of delay levels until its text changes.
type levelTable struct{ parsed atomic.Pointer[parsedLevels] }

type parsedLevels struct {
	text   string
	levels delay.Levels
}

// delayLevels gives the present delay levels.
func (b *Broker) delayLevels() delay.Levels {
	text := b.cfg.Load().Send.DelayLevels
	if p := b.levels.parsed.Load(); p != nil && p.text == text {
		return p.levels
	}
	levels, err := delay.ParseLevels(text)
	if err != nil { // Validate lets no such text in
		b.log.Error("delay levels cannot be read", "err", err)
		levels, _ = delay.ParseLevels(delay.DefaultLevels)
	}
	b.levels.parsed.Store(&parsedLevels{text, levels})
	return levels
}

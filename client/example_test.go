// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"time"

	"github.com/goddard-mq/goddard/client"
)

func ExampleProducer() {
	p, err := client.NewProducer(client.NameServers("127.0.0.1:9876"), client.ProducerGroup("shop"))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	result, err := p.Send(context.Background(), &client.Message{
		Topic: "orders", Tag: "created", Keys: []string{"4711"}, Body: []byte(`{"id":4711}`),
	})
	switch client.CodeOf(err) {
	case 0:
		fmt.Println("stored at", result.Queue, result.Offset)
	case client.CodeTimeout:
		fmt.Println("it may be stored or not:", err)
	default:
		fmt.Println(err)
	}
}

func ExampleReader() {
	r, err := client.NewReader("orders", client.NameServers("127.0.0.1:9876"),
		client.StartAt(client.AtTime(time.Now().Add(-time.Hour))),
		client.ReadFilter(client.Tags("created || paid")),
		client.UntilEnd())
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for {
		messages, err := r.Poll(context.Background())
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			log.Fatal(err)
		}
		for _, m := range messages {
			fmt.Println(m.Queue, m.Offset, m.Tag, string(m.Body))
		}
	}
}

func ExampleConsumer() {
	bill := func(_ context.Context, m *client.Received) error {
		fmt.Println(m.Topic, string(m.Body))
		if m.Attempts > 3 {
			return &client.RetryError{DelayLevel: -1, Err: errors.New("given up")} // to the dead letters
		}
		return nil
	}
	c, err := client.NewConsumer("billing", bill, client.NameServers("127.0.0.1:9876"),
		client.Subscribe("orders", client.Tags("created")))
	if err != nil {
		log.Fatal(err)
	}
	if err := c.Start(context.Background()); err != nil {
		log.Fatal(err)
	}
	// ... until the program is to end:
	if err := c.Close(); err != nil {
		log.Print(err)
	}
}

// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package interop;

import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** One client of several processes that work together. */
final class Peer {
  private Peer() {}

  /** A member of a group: says "ready", then "got N" to each line. */
  static void member(Harness harness, String nameServers, String topic, String group) throws Exception {
    try (Clients clients = new Clients(nameServers)) {
      DefaultMQPushConsumer c = clients.push(group);
      List<MessageExt> got = Clients.collect(c);
      c.subscribe(topic, "*");
      c.start();
      harness.say("ready");
      while (harness.next() != null) {
        harness.say("got " + got.size());
      }
    }
  }

  /** Says "ready"; each line is a number: sends so many, says "sent". */
  static void sender(Harness harness, String nameServers, String topic) throws Exception {
    try (Clients clients = new Clients(nameServers)) {
      DefaultMQProducer p = clients.producer();
      harness.say("ready");
      int sent = 0;
      for (String line = harness.next(); line != null; line = harness.next()) {
        for (int i = Integer.parseInt(line); i > 0; i--) {
          p.send(new Message(topic, Clients.bytes("m" + sent++)));
        }
        harness.say("sent");
      }
    }
  }
}

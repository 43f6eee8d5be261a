// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package interop;

import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
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

  /**
   * With message trace on: sends a message that a member of the group fails on once. Says "told ID" when it was consumed
   * and all was told.
   */
  static void traced(Harness harness, String nameServers, String topic, String group) throws Exception {
    String id;
    try (Clients clients = new Clients(nameServers)) {
      DefaultMQPushConsumer c = clients.tracedPush(group);
      CountDownLatch consumed = new CountDownLatch(1);
      c.registerMessageListener((MessageListenerConcurrently) (ms, x) -> {
        if (ms.get(0).getReconsumeTimes() == 0) {
          x.setDelayLevelWhenNextConsume(1);
          return ConsumeConcurrentlyStatus.RECONSUME_LATER;
        }
        consumed.countDown();
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
      });
      c.subscribe(topic, "*");
      DefaultMQProducer p = clients.tracedProducer(group + "Producer");
      id = p.send(new Message(topic, "TagA", "key1 key2", Clients.bytes("traced"))).getMsgId();
      c.start();
      Wait.check(consumed.await(60, TimeUnit.SECONDS), "the message again");
    }
    harness.say("told " + id);
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

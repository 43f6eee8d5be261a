// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package interop;

import static interop.Clients.bytes;
import static interop.Clients.text;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** What an application does with the unmodified client, each as a check. */
final class Scenarios {
  private final String nameServers;
  private final Harness harness;

  Scenarios(String nameServers, Harness harness) {
    this.nameServers = nameServers;
    this.harness = harness;
  }

  void send() throws Exception {
    try (Clients clients = new Clients(nameServers)) {
      DefaultMQProducer p = clients.producer();
      String topic = clients.name("auto"); // made by the first send
      SendResult first = p.send(new Message(topic, "TagA", "key0", bytes("sync")));
      Wait.equal(SendStatus.SEND_OK, first.getSendStatus(), "status");
      Wait.check(first.getOffsetMsgId() != null && first.getOffsetMsgId().length() == 32, "offset id " + first);
      CountDownLatch done = new CountDownLatch(50);
      AtomicReference<Throwable> failure = new AtomicReference<>();
      for (int i = 0; i < 50; i++) {
        p.send(new Message(topic, "TagA", "async" + i, bytes("async" + i)), new SendCallback() {
          @Override
          public void onSuccess(SendResult r) {
            done.countDown();
          }

          @Override
          public void onException(Throwable e) {
            failure.set(e);
            done.countDown();
          }
        });
      }
      Wait.check(done.await(20, TimeUnit.SECONDS), "async answers");
      Wait.check(failure.get() == null, "async send: " + failure.get());
      for (int i = 0; i < 50; i++) {
        p.sendOneway(new Message(topic, "TagA", bytes("oneway" + i)));
      }
      DefaultMQPushConsumer c = clients.push(clients.name("group"));
      List<MessageExt> got = Clients.collect(c);
      c.subscribe(topic, "*");
      c.start();
      Wait.until(() -> "101 messages, has " + got.size(), 40, () -> got.size() >= 101);
      Wait.equal(101, distinct(got).size(), "different messages");
    }
  }

  void batch() throws Exception {
    try (Clients clients = new Clients(nameServers)) {
      DefaultMQProducer p = clients.producer();
      String topic = clients.topic(2);
      List<Message> part = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        part.add(new Message(topic, "T" + i % 2, "k" + i, bytes("b" + i)));
      }
      SendResult r = p.send(part);
      Wait.equal(SendStatus.SEND_OK, r.getSendStatus(), "status");
      Wait.equal(100, r.getOffsetMsgId().split(",").length, "ids");
      DefaultMQPushConsumer c = clients.push(clients.name("group"));
      List<MessageExt> got = Clients.collect(c);
      c.subscribe(topic, "T1");
      c.start();
      Wait.until(() -> "50 messages, has " + got.size(), 40, () -> got.size() >= 50);
      for (MessageExt m : got) {
        Wait.equal("T1", m.getTags(), "tag");
        Wait.check(m.getKeys().startsWith("k"), "keys " + m.getKeys());
      }
    }
  }

  /** Keys, tags, properties with odd characters, an empty body, 4 MiB, Chinese text: all come back as they were sent. */
  void content() throws Exception {
    try (Clients clients = new Clients(nameServers)) {
      DefaultMQProducer p = clients.producer();
      p.setMaxMessageSize(4 << 20);
      p.setCompressMsgBodyOverHowmuch(64 << 20);
      String topic = clients.topic(1);
      Message odd = new Message(topic, "标签", "k1 k2", bytes("正文 \u00e9 \ud83d\ude80"));
      odd.putUserProperty("中文键", "值 with \"quotes\", \\ back, {json}: <&> = ; \t tab");
      odd.putUserProperty("blank", " leading and trailing ");
      odd.putUserProperty("long", "x".repeat(20_000));
      odd.setFlag(7);
      Wait.equal(SendStatus.SEND_OK, p.send(odd).getSendStatus(), "odd");
      byte[] big = new byte[4 << 20];
      for (int i = 0; i < big.length; i++) {
        big[i] = (byte) (i * 31 + i / 255);
      }
      Wait.equal(SendStatus.SEND_OK, p.send(new Message(topic, "big", big)).getSendStatus(), "4 MiB");
      try {
        p.send(new Message(topic, "empty", new byte[0]));
        throw new AssertionError("an empty body was taken");
      } catch (org.apache.rocketmq.client.exception.MQClientException e) {
        Wait.equal(13, e.getResponseCode(), "code for an empty body");
      }
      p.setCompressMsgBodyOverHowmuch(100);
      String wide = "compress me ".repeat(2000);
      Wait.equal(SendStatus.SEND_OK, p.send(new Message(topic, "zip", bytes(wide))).getSendStatus(), "compressed");
      DefaultMQPushConsumer c = clients.push(clients.name("group"));
      List<MessageExt> got = Clients.collect(c);
      c.subscribe(topic, "*");
      c.start();
      Wait.until(() -> "3 messages, has " + got.size(), 40, () -> got.size() >= 3);
      for (MessageExt m : got) {
        switch (m.getTags()) {
          case "标签":
            Wait.equal(text(m), "正文 \u00e9 \ud83d\ude80", "body");
            Wait.equal("k1 k2", m.getKeys(), "keys");
            Wait.equal("值 with \"quotes\", \\ back, {json}: <&> = ; \t tab", m.getUserProperty("中文键"), "property");
            Wait.equal(" leading and trailing ", m.getUserProperty("blank"), "blanks");
            Wait.equal(20_000, m.getUserProperty("long").length(), "long property");
            Wait.equal(7, m.getFlag(), "flag");
            break;
          case "big":
            Wait.check(Arrays.equals(big, m.getBody()), "4 MiB body differs");
            break;
          default:
            Wait.equal(wide, text(m), "compressed body");
        }
      }
    }
  }

  /** Two members share the queues; one leaves; the other gets everything from then on. */
  void clustering() throws Exception {
    try (Clients clients = new Clients(nameServers)) {
      DefaultMQProducer p = clients.producer();
      String topic = clients.topic(8);
      String group = clients.name("group");
      DefaultMQPushConsumer a = clients.push(group);
      DefaultMQPushConsumer b = clients.push(group);
      List<MessageExt> gotA = Clients.collect(a);
      List<MessageExt> gotB = Clients.collect(b);
      a.subscribe(topic, "*");
      b.subscribe(topic, "*");
      a.start();
      b.start();
      int[] sent = {0};
      Set<String> all = ConcurrentHashMap.newKeySet();
      // Until both have been given messages: the members have found each other.
      Wait.until(() -> "both members get messages: " + gotA.size() + ", " + gotB.size(), 60, () -> {
        try {
          for (int i = 0; i < 8; i++) {
            String id = "m" + sent[0]++;
            p.send(new Message(topic, bytes(id)));
            all.add(id);
          }
          Thread.sleep(200);
        } catch (Exception e) {
          throw new AssertionError(e);
        }
        return !gotA.isEmpty() && !gotB.isEmpty();
      });
      Wait.until(() -> "everything: " + missing(all, gotA, gotB), 30, () -> missing(all, gotA, gotB).isEmpty());
      b.shutdown();
      Set<String> rest = new HashSet<>();
      for (int i = 0; i < 80; i++) {
        String id = "after" + i;
        p.send(new Message(topic, bytes(id)));
        rest.add(id);
      }
      Wait.until(() -> "the one who stayed gets the rest: " + missing(rest, gotA), 60, () -> missing(rest, gotA).isEmpty());
    }
  }

  void broadcasting() throws Exception {
    try (Clients clients = new Clients(nameServers)) {
      DefaultMQProducer p = clients.producer();
      String topic = clients.topic(4);
      String group = clients.name("group");
      List<List<MessageExt>> got = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        DefaultMQPushConsumer c = clients.push(group);
        Generation.broadcasting(c);
        got.add(Clients.collect(c));
        c.subscribe(topic, "*");
        c.start();
      }
      Set<String> all = new HashSet<>();
      for (int i = 0; i < 40; i++) {
        p.send(new Message(topic, bytes("m" + i)));
        all.add("m" + i);
      }
      for (List<MessageExt> g : got) {
        Wait.until(() -> "each gets all: " + missing(all, g), 60, () -> missing(all, g).isEmpty());
      }
    }
  }

  /** Lite pull: assign, seek to the begin, to an offset and to the end; commit; a second consumer goes on from there. */
  void pull() throws Exception {
    try (Clients clients = new Clients(nameServers)) {
      DefaultMQProducer p = clients.producer();
      String topic = clients.topic(1);
      for (int i = 0; i < 20; i++) {
        p.send(new Message(topic, bytes("m" + i)));
      }
      String group = clients.name("group");
      DefaultLitePullConsumer c = clients.litePull(group);
      c.start();
      Collection<MessageQueue> queues = c.fetchMessageQueues(topic);
      Wait.equal(1, queues.size(), "queues");
      MessageQueue q = queues.iterator().next();
      c.assign(queues);
      c.seekToBegin(q);
      Wait.equal(bodies(0, 20), poll(c, 20), "from the begin");
      c.seek(q, 15);
      Wait.equal(bodies(15, 20), poll(c, 5), "from offset 15");
      c.seek(q, 5);
      Wait.equal(bodies(5, 20), poll(c, 15), "from offset 5");
      c.commitSync();
      Wait.until(() -> "committed", 10, () -> {
        try {
          return c.committed(q) == 20L;
        } catch (Exception e) {
          return false;
        }
      });
      c.seekToEnd(q);
      p.send(new Message(topic, bytes("m20")));
      Wait.equal(bodies(20, 21), poll(c, 1), "from the end");
      Wait.check(c.offsetForTimestamp(q, 0L) == 0L, "offset for time 0");
    }
  }

  /** The broker is killed and started again while messages flow: nothing that was acknowledged is missing. */
  void restartBroker() throws Exception {
    restart("restart-broker");
  }

  void restartNameServer() throws Exception {
    restart("restart-nameserver");
  }

  private void restart(String what) throws Exception {
    try (Clients clients = new Clients(nameServers)) {
      DefaultMQProducer p = clients.producer();
      String topic = clients.topic(4);
      DefaultMQPushConsumer c = clients.push(clients.name("group"));
      List<MessageExt> got = Clients.collect(c);
      c.subscribe(topic, "*");
      c.start();
      Set<String> acked = ConcurrentHashMap.newKeySet();
      boolean[] stop = {false};
      Thread sender = new Thread(() -> {
        for (int i = 0; !stop[0]; i++) {
          try {
            if (p.send(new Message(topic, bytes("m" + i)), 3000).getSendStatus() == SendStatus.SEND_OK) {
              acked.add("m" + i);
            }
          } catch (Exception e) {
            // not acknowledged: may or may not be stored
            pause(50);
          }
          pause(2);
        }
      });
      sender.start();
      Wait.until(() -> "traffic before", 30, () -> acked.size() > 100);
      harness.ask(what);
      int before = acked.size();
      Wait.until(() -> "sends go on after " + what, 60, () -> acked.size() > before + 100);
      stop[0] = true;
      sender.join();
      Wait.until(() -> "all acknowledged are consumed, missing " + missing(acked, got), 90, () -> missing(acked, got).isEmpty());
    }
  }

  private static void pause(long ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static List<String> poll(DefaultLitePullConsumer c, int n) {
    List<String> got = new ArrayList<>();
    long end = System.nanoTime() + 20_000_000_000L;
    while (got.size() < n && System.nanoTime() < end) {
      for (MessageExt m : c.poll(500)) {
        got.add(text(m));
      }
    }
    return got;
  }

  private static List<String> bodies(int from, int to) {
    List<String> l = new ArrayList<>();
    for (int i = from; i < to; i++) {
      l.add("m" + i);
    }
    return l;
  }

  private static Set<String> distinct(List<MessageExt> got) {
    Set<String> s = new HashSet<>();
    for (MessageExt m : new ArrayList<>(got)) {
      s.add(text(m));
    }
    return s;
  }

  @SafeVarargs
  private static Set<String> missing(Set<String> want, List<MessageExt>... got) {
    Set<String> left = new TreeSet<>(want);
    for (List<MessageExt> l : got) {
      synchronized (l) {
        for (MessageExt m : l) {
          left.remove(text(m));
        }
      }
    }
    return left.size() > 20 ? Collections.singleton(left.size() + " messages") : left;
  }
}

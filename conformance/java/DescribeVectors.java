import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Named;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.internals.InternalTopicConfig;
import org.apache.kafka.streams.processor.internals.InternalTopologyBuilder;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/**
 * Writes test/conformance/describe/cases.json: what Kafka Streams says of the programs that
 * test/conformance/describe/programs.ts writes in the same order, under the same names. Run with
 * kafka-streams 4.4.0 and its dependencies on the class path:
 * java -cp 'lib/*' DescribeVectors.java cases.json
 */
public class DescribeVectors {
    static final Map<String, Topology> TOPOLOGIES = new LinkedHashMap<>();
    static final Serde<String> S = Serdes.String();
    static final Serde<Long> L = Serdes.Long();
    static final Consumed<String, String> C = Consumed.with(S, S);
    static final Grouped<String, String> G = Grouped.with(S, S);

    /** Runs anything: its place in the topology is what counts. */
    static class Idle implements Processor<Object, Object, Object, Object> {
        @Override
        public void process(org.apache.kafka.streams.processor.api.Record<Object, Object> record) {
        }
    }

    // withName changes the object that it is called on: a new one each time.
    static Produced<String, String> P() {
        return Produced.with(S, S);
    }

    static Produced<String, Long> PL() {
        return Produced.with(S, L);
    }

    static Consumed<String, String> c(String name) {
        return Consumed.with(S, S).withName(name);
    }

    static Grouped<String, String> g(String name) {
        return Grouped.with(name, S, S);
    }

    static Materialized<String, Long, KeyValueStore<Bytes, byte[]>> ml(String store) {
        return Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as(store)
            .withKeySerde(S).withValueSerde(L);
    }

    static Materialized<String, String, KeyValueStore<Bytes, byte[]>> ms(String store) {
        return Materialized.<String, String, KeyValueStore<Bytes, byte[]>>as(store)
            .withKeySerde(S).withValueSerde(S);
    }

    static void add(String name, Consumer<StreamsBuilder> program) {
        StreamsBuilder builder = new StreamsBuilder();
        program.accept(builder);
        TOPOLOGIES.put(name, builder.build());
    }

    static void build() {
        add("word count with an unnamed store", b ->
            b.stream("text-lines", C).flatMapValues(v -> Arrays.asList(v.split(" ")))
                .groupBy((k, v) -> v, G).count().toStream().to("counts", PL()));
        add("word count with a named store", b ->
            b.stream("text-lines", C).flatMapValues(v -> Arrays.asList(v.split(" ")))
                .groupBy((k, v) -> v, G).count(ml("word-counts")).toStream().to("counts",
                PL()));
        add("word count without an output", b ->
            b.stream("text-lines", C).flatMapValues(v -> Arrays.asList(v.split(" ")))
                .groupBy((k, v) -> v, G).count(ml("word-counts")));
        add("word count with every step named", b ->
            b.stream("text-lines", c("lines")).flatMapValues(v -> Arrays.asList(v.split(" ")),
                Named.as("split")).groupBy((k, v) -> v, g("by-word"))
                .count(Named.as("count"), ml("word-counts")).toStream(Named.as("changes"))
                .to("counts", PL().withName("out")));
        add("groupBy named, store unnamed", b ->
            b.stream("in", C).groupBy((k, v) -> v, g("by-value")).count(Named.as("count"))
                .toStream().to("out", PL()));
        add("groupByKey without a key change", b ->
            b.stream("in", C).groupByKey(G).count(ml("counts")));
        add("groupByKey without a key change, unnamed store", b ->
            b.stream("in", C).filter((k, v) -> true).mapValues(v -> v).groupByKey(G).count());
        add("groupByKey after selectKey", b ->
            b.stream("in", C).selectKey((k, v) -> v).groupByKey(G).count(ml("counts"))
                .toStream().to("out", PL()));
        add("groupByKey after map, named", b ->
            b.stream("in", C).map((k, v) -> KeyValue.pair(v, k)).groupByKey(g("again"))
                .reduce((x, y) -> y).toStream().to("out", P()));
        add("reduce, unnamed", b ->
            b.stream("in", C).groupByKey(G).reduce((x, y) -> x + y).toStream().to("out", P()));
        add("reduce into a named store after a key change", b ->
            b.stream("in", C).groupBy((k, v) -> v, G).reduce((x, y) -> x + y,
                Named.as("sum"), ms("sums")).toStream().to("out", P()));
        add("aggregate, unnamed", b ->
            b.stream("in", C).groupByKey(G).aggregate(() -> 0L, (k, v, a) -> a + 1,
                Materialized.with(S, L)).toStream().to("out", PL()));
        add("aggregate into a named store after a key change", b ->
            b.stream("in", C).groupBy((k, v) -> v, G).aggregate(() -> 0L, (k, v, a) -> a + 1,
                Named.as("total"), ml("totals")).toStream(Named.as("totals-stream")).to("out",
                PL()));
        add("two groupBy of one stream", b -> {
            KStream<String, String> s = b.stream("in", C);
            s.groupBy((k, v) -> v, G).count(ml("by-value"));
            s.groupBy((k, v) -> v.substring(0, 1), G).count(ml("by-letter"));
        });
        add("two groupBy in a row", b ->
            b.stream("in", C).groupBy((k, v) -> v, G).count(ml("first")).toStream()
                .mapValues(v -> "" + v).groupBy((k, v) -> v, G).count(ml("second")).toStream()
                .to("out", PL()));
        add("two aggregations of one grouped stream", b -> {
            KGroupedStream<String, String> x = b.stream("in", C).groupByKey(G);
            x.count();
            x.reduce((p, q) -> q);
        });
        add("two aggregations of one named repartition", b -> {
            KGroupedStream<String, String> x = b.stream("in", C).groupBy((k, v) ->
                v, g("shared"));
            x.count(ml("counts"));
            x.reduce((p, q) -> q, ms("last"));
        });
        add("two aggregations of one unnamed repartition", b -> {
            KGroupedStream<String, String> x = b.stream("in", C).groupBy((k, v) -> v, G);
            x.count();
            x.reduce((p, q) -> q);
        });
        add("every stateless step, unnamed", b -> {
            KStream<String, String> s = b.stream("in", C).filter((k, v) -> true)
                .filterNot((k, v) -> false).map((k, v) -> KeyValue.pair(k, v)).mapValues(v -> v)
                .flatMap((k, v) -> Arrays.asList(KeyValue.pair(k, v))).flatMapValues(v ->
                Arrays.asList(v)).selectKey((k, v) -> k).peek((k, v) -> {});
            s.foreach((k, v) -> {});
            s.to("out", P());
        });
        add("every stateless step, named", b -> {
            KStream<String, String> s = b.stream("in", c("a")).filter((k, v) -> true,
                Named.as("b")).filterNot((k, v) -> false, Named.as("c")).map((k, v) ->
                KeyValue.pair(k, v), Named.as("d")).mapValues(v -> v, Named.as("e"))
                .flatMap((k, v) -> Arrays.asList(KeyValue.pair(k, v)), Named.as("f"))
                .flatMapValues(v -> Arrays.asList(v), Named.as("g")).selectKey((k, v) -> k,
                Named.as("h")).peek((k, v) -> {}, Named.as("i"));
            s.foreach((k, v) -> {}, Named.as("j"));
            s.to("out", P().withName("k"));
        });
        add("every other step named", b ->
            b.stream("in", C).filter((k, v) -> true, Named.as("keep")).mapValues(v -> v)
                .peek((k, v) -> {}, Named.as("look")).selectKey((k, v) -> v).filterNot((k, v) ->
                false, Named.as("drop")).groupByKey(G).count(ml("counts")));
        add("two sub-topologies", b -> {
            b.stream("left", C).filter((k, v) -> true).to("left-out", P());
            b.stream("right", C).mapValues(v -> v).to("right-out", P());
        });
        add("merge of two sources", b ->
            b.stream("left", C).merge(b.stream("right", C)).to("out", P()));
        add("merge of three, counted", b ->
            b.stream("a", C).merge(b.stream("b", C)).merge(b.stream("c", C), Named.as("all"))
                .groupByKey(G).count(ml("counts")));
        add("merge with a changed key, counted", b ->
            b.stream("left", C).merge(b.stream("right", C).selectKey((k, v) -> v)).groupByKey(G)
                .count(ml("counts")));
        add("merge of a stream with a step of its own", b -> {
            KStream<String, String> s = b.stream("in", C);
            s.filter((k, v) -> true).merge(s.mapValues(v -> v)).to("out", P());
        });
        add("toTable, unnamed", b ->
            b.stream("in", C).toTable().toStream().to("out", P()));
        add("toTable into a named store", b ->
            b.stream("in", C).toTable(ms("latest")).toStream().to("out", P()));
        add("toTable, step named", b ->
            b.stream("in", C).toTable(Named.as("table"), ms("latest")));
        add("toTable after selectKey", b ->
            b.stream("in", C).selectKey((k, v) -> v).toTable(Materialized.with(S, S)).toStream()
                .to("out", P()));
        add("toTable after selectKey, named", b ->
            b.stream("in", C).selectKey((k, v) -> v)
                .toTable(Named.as("latest-by-value"), ms("latest")).toStream().to("out", P()));
        add("toTable after selectKey into a named store", b ->
            b.stream("in", C).selectKey((k, v) -> v).toTable(ms("latest")).toStream().to("out",
                P()));
        add("a table, unnamed", b ->
            b.table("in", C).toStream().to("out", P()));
        add("a table with a named store", b ->
            b.table("in", C, ms("customers")).toStream().to("out", P()));
        add("a table with a named source", b ->
            b.table("in", c("customers"), ms("customers-store")).toStream().to("out", P()));
        add("steps of a table", b ->
            b.table("in", C, ms("customers")).filter((k, v) -> true).mapValues(v -> v)
                .filterNot((k, v) -> false).toStream().to("out", P()));
        add("steps of a table into named stores", b ->
            b.table("in", C).filter((k, v) -> true, ms("kept")).mapValues(v -> v,
                Named.as("mapped"), ms("mapped-store")).filterNot((k, v) -> false,
                Named.as("rest"), ms("rest-store")).toStream().to("out", P()));
        add("one topic read twice", b -> {
            b.stream("in", C).filter((k, v) -> true).to("kept", P());
            b.stream("in", C).mapValues(v -> v).to("mapped", P());
        });
        add("one topic read twice and merged", b -> {
            KStream<String, String> x = b.stream("in", C);
            KStream<String, String> y = b.stream("in", C);
            KStream<String, String> z = b.stream("other", C);
            y.merge(z).to("yz", P());
            z.merge(y).to("zy", P());
            x.merge(y).to("xy", P());
            y.merge(x).merge(z).to("xyz", P());
        });
        add("several topics in one source", b ->
            b.stream(Arrays.asList("gamma", "alpha", "beta", "orders", "payments"), C).to("out",
                P()));
        add("a stream with many children", b -> {
            KStream<String, String> s = b.stream("in", C);
            for (int i = 0; i < 14; i++) {
                KStream<String, String> t = s;
                for (int j = 0; j <= i % 5; j++) t = t.mapValues(v -> v);
                t.to("out-" + i, P());
            }
        });
        add("many streams into one merge", b -> {
            KStream<String, String> all = null;
            for (int i = 0; i < 9; i++) {
                KStream<String, String> t = b.stream("in-" + i, C);
                for (int j = 0; j < (i * 7) % 4; j++) t = t.filter((k, v) -> true);
                all = all == null ? t : all.merge(t);
            }
            all.groupByKey(G).count();
        });
        add("a diamond of steps", b -> {
            KStream<String, String> s = b.stream("in", C);
            for (int i = 0; i < 5; i++) {
                KStream<String, String> x = s.filter((k, v) -> true);
                KStream<String, String> y = s.mapValues(v -> v).peek((k, v) -> {});
                s = x.merge(y);
                s.to("out-" + i, P());
            }
            s.groupBy((k, v) -> v, g("diamond")).count(ml("diamonds")).toStream().to("counts",
                PL());
        });
        add("named steps in many branches", b -> {
            KStream<String, String> s = b.stream("events", c("events-source"));
            String[] names = {"checkout", "login", "logout", "search", "view", "cart", "refund",
                "signup", "share", "rate"};
            int i = 0;
            for (String n : names) {
                KStream<String, String> t = s.filter((k, v) -> true, Named.as("only-" + n));
                if (i % 3 == 0) t = t.mapValues(v -> v, Named.as("trim-" + n)).peek((k, v) ->
                    {}, Named.as("log-" + n));
                if (i % 2 == 0) t.groupBy((k, v) -> v, g(n + "-by-user"))
                    .count(Named.as("count-" + n), ml(n + "-counts"))
                    .toStream(Named.as(n + "-changes")).to(n + "-out", PL()
                    .withName(n + "-sink"));
                else t.to(n + "-raw", P().withName(n + "-sink"));
                i++;
            }
        });
        add("an aggregation written and read again", b -> {
            b.stream("in", C).groupByKey(G).count(ml("counts")).toStream().mapValues(v ->
                "" + v).to("between", P());
            b.stream("between", C).groupByKey(G).reduce((x, y) -> y, ms("last"));
        });
        add("empty", b -> {
        });
        // The Processor API: stores that are shared by steps.
        Topology t = new Topology();
        StoreBuilder<?> shared = Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore("shared"),
            S, S);
        StoreBuilder<?> zeta = Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore("zeta"),
            S, S);
        StoreBuilder<?> alpha = Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore("alpha"),
            S, S);
        ProcessorSupplier<Object, Object, Object, Object> ps = Idle::new;
        t.addSource("source-1", "topic-1").addSource("source-2", "topic-2")
            .addSource("source-3", "topic-3", "topic-4")
        .addProcessor("writer", ps, "source-1").addProcessor("reader", ps, "source-2")
            .addProcessor("alone", ps, "source-3").addProcessor("both", ps, "reader", "writer")
        .addStateStore(shared, "writer", "reader").addStateStore(zeta, "reader")
            .addStateStore(alpha, "reader")
        .addSink("sink-1", "out-1", "writer").addSink("sink-2", "out-2", "alone")
            .addSink("sink-3", "out-3", "both", "alone");
        TOPOLOGIES.put("stores shared by steps (Processor API)", t);
    }
    public static void main(String[] args) throws Exception {
        build();
        ObjectMapper mapper = new ObjectMapper();
        ArrayNode cases = mapper.createArrayNode();
        Field internals = Topology.class.getDeclaredField("internalTopologyBuilder");
        internals.setAccessible(true);
        Properties config = new Properties();
        config.put("application.id", "app");
        config.put("bootstrap.servers", "localhost:1");
        for (Map.Entry<String, Topology> entry : TOPOLOGIES.entrySet()) {
            ObjectNode row = cases.addObject();
            row.put("name", entry.getKey());
            row.put("describe", entry.getValue().describe().toString());
            ArrayNode topics = row.putArray("internalTopics");

            InternalTopologyBuilder builder =
                (InternalTopologyBuilder) internals.get(entry.getValue());
            builder.rewriteTopology(new StreamsConfig(config));
            builder.buildTopology();
            Map<String, InternalTopicConfig> byName = new TreeMap<>();
            builder.subtopologyToTopicsInfo().values().forEach(info -> {
                info.repartitionSourceTopics.values()
                    .forEach(topic -> byName.put(topic.name(), topic));
                info.stateChangelogTopics.values()
                    .forEach(topic -> byName.put(topic.name(), topic));
            });
            byName.forEach((name, topic) -> {
                ObjectNode described = topics.addObject();
                described.put("name", name);
                ObjectNode configs = described.putObject("configs");
                new TreeMap<>(topic.properties(new HashMap<>(), 86_400_000L)).forEach(configs::put);
            });
        }
        String json = mapper.writerWithDefaultPrettyPrinter().writeValueAsString(cases);
        Files.writeString(Path.of(args[0]), json + "\n");
    }
}

package millpond.peers;

import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.KeyValueStore;

/** What several jobs have in common: the records of each key, counted in the store "counts". */
final class Counts {
  static final String STORE = "counts";

  static Materialized<String, Long, KeyValueStore<Bytes, byte[]>> store() {
    return Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as(STORE)
        .withKeySerde(Serdes.String())
        .withValueSerde(Serdes.Long());
  }

  static Topology topology(Settings settings) {
    StreamsBuilder builder = new StreamsBuilder();
    builder.stream(settings.get("input"), Consumed.with(Serdes.String(), Serdes.String()))
        .groupByKey()
        .count(store());
    return builder.build();
  }
}

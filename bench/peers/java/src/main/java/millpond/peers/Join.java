package millpond.peers;

import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueStore;

/** Puts the row of its customer beside each order. */
final class Join {
  static Topology topology(Settings settings) {
    Consumed<String, String> strings = Consumed.with(Serdes.String(), Serdes.String());
    StreamsBuilder builder = new StreamsBuilder();
    KTable<String, String> customers =
        builder.table(
            settings.get("table"),
            strings,
            Materialized.<String, String, KeyValueStore<Bytes, byte[]>>as("customers"));
    builder.stream(settings.get("input"), strings)
        .join(customers, (order, customer) -> order + ";" + customer)
        .to(settings.get("output"), Produced.with(Serdes.String(), Serdes.String()));
    return builder.build();
  }
}

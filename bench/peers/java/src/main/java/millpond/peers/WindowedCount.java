package millpond.peers;

import java.time.Duration;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.state.WindowStore;

/** Counts the records of each key in each minute. */
final class WindowedCount {
  static Topology topology(Settings settings) {
    TimeWindows minutes = TimeWindows.ofSizeAndGrace(Duration.ofMinutes(1), Duration.ofHours(1));
    StreamsBuilder builder = new StreamsBuilder();
    builder.stream(settings.get("input"), Consumed.with(Serdes.String(), Serdes.String()))
        .groupByKey()
        .windowedBy(minutes)
        .count(
            Materialized.<String, Long, WindowStore<Bytes, byte[]>>as(Counts.STORE)
                .withKeySerde(Serdes.String())
                .withValueSerde(Serdes.Long()));
    return builder.build();
  }
}

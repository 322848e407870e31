import java.util.List;
import java.util.Map;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.http.HttpServerTransport;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.percolator.PercolatorPlugin;
import org.elasticsearch.transport.Netty4Plugin;

/**
 * An Elasticsearch node of one core with the percolator: {@code java Percolator FOLDER}. It prints the port of its HTTP
 * server on this machine, and ends with its standard input.
 */
public final class Percolator extends Node {
  private Percolator(Settings settings) {
    super(
        InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "percolator"),
        List.of(PercolatorPlugin.class, Netty4Plugin.class),
        false);
  }

  public static void main(String[] arguments) throws Exception {
    Settings settings =
        Settings.builder()
            .put("path.home", arguments[0])
            .put("cluster.name", "peers")
            .put("discovery.type", "single-node")
            .put("network.host", "127.0.0.1")
            .put("http.port", "0")
            .put("transport.port", "0")
            .put("node.processors", 1)
            .build();
    Percolator node = new Percolator(settings);
    node.start();
    var http = node.injector().getInstance(HttpServerTransport.class);
    System.out.println("port " + http.boundAddress().publishAddress().getPort());
    while (System.in.read() >= 0) {}
    System.exit(0);
  }
}

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.core.KeywordAnalyzer;
import org.apache.lucene.analysis.core.WhitespaceAnalyzer;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.NumericDocValuesField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.DocValues;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.NumericDocValues;
import org.apache.lucene.index.Term;
import org.apache.lucene.index.memory.MemoryIndex;
import org.apache.lucene.monitor.MatchingQueries;
import org.apache.lucene.monitor.Monitor;
import org.apache.lucene.monitor.MonitorConfiguration;
import org.apache.lucene.monitor.MonitorQuery;
import org.apache.lucene.monitor.QueryMatch;
import org.apache.lucene.monitor.TermFilteredPresearcher;
import org.apache.lucene.sandbox.search.CoveringQuery;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.LongValuesSource;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreMode;
import org.apache.lucene.search.SimpleCollector;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.MMapDirectory;

/**
 * Lucene as an engine of the peers benchmark: {@code java Peer WAY FOLDER}. It builds what WAY needs from the numbers in
 * FOLDER (benchmarks/peers/workload.py), tells so in one line of JSON, and answers each line {@code FIRST COUNT} on
 * its input with one line. A subscription is three tokens, a publication up to thirty; a token is a (predicate, object).
 */
public final class Peer {
  static final int PATTERNS = 3;
  static final int PAIRS = 30;
  static final String TOKEN = "token";
  static final String RAREST = "rarest";

  /** Takes the subscriptions that match one publication. */
  interface Found {
    void add(int subscription);
  }

  interface Engine {
    void match(int publication, Found found) throws IOException;

    /** Bytes of index files; what is on the heap is measured apart. */
    long fileBytes() throws IOException;
  }

  /** Publication and subscription numbers, side by side. */
  static final class Pairs {
    int[] numbers = new int[1 << 12];
    int size;

    void add(int publication, int subscription) {
      if (size + 2 > numbers.length) {
        numbers = Arrays.copyOf(numbers, numbers.length * 2);
      }
      numbers[size++] = publication;
      numbers[size++] = subscription;
    }

    /** As benchmarks/peers/answers.py has it. */
    long hash() {
      long sum = 0;
      for (int at = 0; at < size; at += 2) {
        sum += mix((long) numbers[at] << 32 | numbers[at + 1]);
      }
      return sum;
    }

    private static long mix(long number) {
      number += 0x9E3779B97F4A7C15L;
      number = (number ^ number >>> 30) * 0xBF58476D1CE4E5B9L;
      number = (number ^ number >>> 27) * 0x94D049BB133111EBL;
      return number ^ number >>> 31;
    }
  }

  /** One (predicate, object), numbers that are ranks: the greater their product, the rarer the pair. */
  record Pair(int predicate, int object) {
    String token() {
      return predicate + ":" + object;
    }

    long rarity() {
      return (predicate + 1L) * (object + 1L);
    }

    static double weigh(Term term) {
      String[] parts = term.text().split(":");
      return new Pair(Integer.parseInt(parts[0]), Integer.parseInt(parts[1])).rarity();
    }
  }

  /** The rarest token first; each only once. */
  static String[][] readTokens(Path file, int width) throws IOException {
    IntBuffer numbers =
        ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer();
    String[][] rows = new String[numbers.remaining() / (2 * width)][];
    Pair[] row = new Pair[width];
    for (int at = 0; at < rows.length; at++) {
      for (int column = 0; column < width; column++) {
        row[column] = new Pair(numbers.get(), numbers.get());
      }
      Arrays.sort(row, Comparator.comparingLong(Pair::rarity).reversed());
      rows[at] = Arrays.stream(row).map(Pair::token).distinct().toArray(String[]::new);
    }
    return rows;
  }

  static Query conjunction(String[] tokens, BooleanClause.Occur occur) {
    BooleanQuery.Builder builder = new BooleanQuery.Builder();
    for (String token : tokens) {
      builder.add(new TermQuery(new Term(TOKEN, token)), occur);
    }
    return builder.build();
  }

  /** The tokens of one publication, without analysis. */
  static final class Tokens extends TokenStream {
    private final CharTermAttribute term = addAttribute(CharTermAttribute.class);
    private final String[] tokens;
    private int at;

    Tokens(String[] tokens) {
      this.tokens = tokens;
    }

    @Override
    public boolean incrementToken() {
      if (at == tokens.length) {
        return false;
      }
      clearAttributes();
      term.append(tokens[at++]);
      return true;
    }

    @Override
    public void reset() {
      at = 0;
    }
  }

  /** Publications in each form that an engine wants, made before anything is measured. */
  static final class Publications {
    final TokenStream[] streams;
    final Document[] documents;
    final Query[][] terms;

    Publications(String[][] rows, String field) {
      streams = Arrays.stream(rows).map(Tokens::new).toArray(TokenStream[]::new);
      documents = new Document[rows.length];
      terms = new Query[rows.length][];
      for (int number = 0; number < rows.length; number++) {
        documents[number] = new Document();
        documents[number].add(new TextField(TOKEN, streams[number]));
        terms[number] =
            Arrays.stream(rows[number]).map(token -> new TermQuery(new Term(field, token))).toArray(Query[]::new);
      }
    }
  }

  /** An index of subscriptions as documents, in one segment in mapped files; `id` is the subscription's number. */
  static final class Stored {
    final Directory directory;
    final IndexSearcher searcher;

    Stored(Path folder, String[][] subscriptions) throws IOException {
      directory = new MMapDirectory(folder);
      IndexWriterConfig config = new IndexWriterConfig(new KeywordAnalyzer()).setRAMBufferSizeMB(256);
      try (IndexWriter writer = new IndexWriter(directory, config)) {
        for (int number = 0; number < subscriptions.length; number++) {
          Document document = new Document();
          for (String token : subscriptions[number]) {
            document.add(new StringField(TOKEN, token, Field.Store.NO));
          }
          document.add(new StringField(RAREST, subscriptions[number][0], Field.Store.NO));
          document.add(new NumericDocValuesField("size", subscriptions[number].length));
          document.add(new NumericDocValuesField("id", number));
          writer.addDocument(document);
        }
        writer.forceMerge(1);
      }
      searcher = new IndexSearcher(DirectoryReader.open(directory));
      searcher.setQueryCache(null);
    }

    void search(Query query, Found found) throws IOException {
      searcher.search(query, new IdCollector(found));
    }

    long bytes() throws IOException {
      long sum = 0;
      for (String name : directory.listAll()) {
        sum += directory.fileLength(name);
      }
      return sum;
    }
  }

  static final class IdCollector extends SimpleCollector {
    private final Found found;
    private NumericDocValues ids;

    IdCollector(Found found) {
      this.found = found;
    }

    @Override
    protected void doSetNextReader(LeafReaderContext context) throws IOException {
      ids = DocValues.getNumeric(context.reader(), "id");
    }

    @Override
    public void collect(int document) throws IOException {
      ids.advanceExact(document);
      found.add((int) ids.longValue());
    }

    @Override
    public ScoreMode scoreMode() {
      return ScoreMode.COMPLETE_NO_SCORES;
    }
  }

  /** Elasticsearch's percolator: as many of a subscription's tokens must be there as it has; nothing to verify. */
  static final class Covering implements Engine {
    private final Stored stored;
    private final Query[][] terms;

    Covering(Path folder, String[][] subscriptions, Publications publications) throws IOException {
      stored = new Stored(folder, subscriptions);
      terms = publications.terms;
    }

    @Override
    public void match(int publication, Found found) throws IOException {
      List<Query> present = List.of(terms[publication]);
      stored.search(new CoveringQuery(present, LongValuesSource.fromLongField("size")), found);
    }

    @Override
    public long fileBytes() throws IOException {
      return stored.bytes();
    }
  }

  /** What Lucene does when it may know that every subscription has three tokens; the percolators do not know it. */
  static final class AtLeastThree implements Engine {
    private final Stored stored;
    private final Query[][] terms;

    AtLeastThree(Path folder, String[][] subscriptions, Publications publications) throws IOException {
      stored = new Stored(folder, subscriptions);
      terms = publications.terms;
    }

    @Override
    public void match(int publication, Found found) throws IOException {
      BooleanQuery.Builder builder = new BooleanQuery.Builder().setMinimumNumberShouldMatch(PATTERNS);
      for (Query term : terms[publication]) {
        builder.add(term, BooleanClause.Occur.SHOULD);
      }
      stored.search(builder.build(), found);
    }

    @Override
    public long fileBytes() throws IOException {
      return stored.bytes();
    }
  }

  /** Candidates by the rarest token, each verified on a MemoryIndex of the publication. */
  static final class Rarest implements Engine {
    private final Stored stored;
    private final Query[] queries;
    private final Publications publications;
    private final MemoryIndex memory = new MemoryIndex();

    Rarest(Path folder, String[][] subscriptions, Publications publications) throws IOException {
      stored = new Stored(folder, subscriptions);
      this.publications = publications;
      queries = new Query[subscriptions.length];
      for (int number = 0; number < queries.length; number++) {
        queries[number] = conjunction(subscriptions[number], BooleanClause.Occur.FILTER);
      }
    }

    @Override
    public void match(int publication, Found found) throws IOException {
      memory.reset();
      memory.addField(TOKEN, publications.streams[publication]);
      IndexSearcher searcher = memory.createSearcher();
      searcher.setQueryCache(null);
      BooleanQuery.Builder builder = new BooleanQuery.Builder();
      for (Query term : publications.terms[publication]) {
        builder.add(term, BooleanClause.Occur.SHOULD);
      }
      stored.search(
          builder.build(),
          number -> {
            if (holds(searcher, queries[number])) {
              found.add(number);
            }
          });
    }

    private static boolean holds(IndexSearcher searcher, Query query) {
      try {
        return searcher.count(query) > 0;
      } catch (IOException failure) {
        throw new java.io.UncheckedIOException(failure);
      }
    }

    @Override
    public long fileBytes() throws IOException {
      return stored.bytes();
    }
  }

  /** The library as published, its presearcher told how rare each token is. */
  static class Monitored implements Engine {
    private static final int BUFFERED = 50_000;
    private final Monitor monitor;
    private final Document[] documents;

    Monitored(String[][] subscriptions, Publications publications, Analyzer analyzer) throws IOException {
      var presearcher = new TermFilteredPresearcher(Pair::weigh, List.of(), Set.of());
      MonitorConfiguration configuration = new MonitorConfiguration().setQueryUpdateBufferSize(BUFFERED);
      monitor = new Monitor(analyzer, presearcher, configuration);
      List<MonitorQuery> queries = new ArrayList<>(BUFFERED);
      for (int number = 0; number < subscriptions.length; number++) {
        Query query = conjunction(subscriptions[number], BooleanClause.Occur.MUST);
        queries.add(new MonitorQuery(Integer.toString(number), query));
        if (queries.size() == BUFFERED || number == subscriptions.length - 1) {
          monitor.register(queries);
          queries.clear();
        }
      }
      documents = publications.documents;
    }

    Document document(int publication) {
      return documents[publication];
    }

    @Override
    public void match(int publication, Found found) throws IOException {
      MatchingQueries<QueryMatch> matching = monitor.match(document(publication), QueryMatch.SIMPLE_MATCHER);
      for (QueryMatch match : matching.getMatches()) {
        found.add(Integer.parseInt(match.getQueryId()));
      }
    }

    @Override
    public long fileBytes() {
      return 0;
    }
  }

  /** The same by its front door: a publication is bytes, its tokens between spaces. */
  static final class MonitoredBytes extends Monitored {
    private final byte[][] texts;

    MonitoredBytes(String[][] subscriptions, String[][] rows, Publications publications) throws IOException {
      super(subscriptions, publications, new WhitespaceAnalyzer());
      texts = new byte[rows.length][];
      for (int number = 0; number < rows.length; number++) {
        texts[number] = String.join(" ", rows[number]).getBytes(StandardCharsets.UTF_8);
      }
    }

    @Override
    Document document(int publication) {
      Document document = new Document();
      document.add(new TextField(TOKEN, new String(texts[publication], StandardCharsets.UTF_8), Field.Store.NO));
      return document;
    }
  }

  static Engine build(
      String way, Path folder, String[][] subscriptions, String[][] rows, Publications publications)
      throws IOException {
    Path index = Files.createTempDirectory(folder, "lucene-");
    return switch (way) {
      case "covering" -> new Covering(index, subscriptions, publications);
      case "three" -> new AtLeastThree(index, subscriptions, publications);
      case "rarest" -> new Rarest(index, subscriptions, publications);
      case "monitor" -> new Monitored(subscriptions, publications, new KeywordAnalyzer());
      case "bytes" -> new MonitoredBytes(subscriptions, rows, publications);
      default -> throw new IllegalArgumentException("unknown way: " + way);
    };
  }

  /** Seconds that this process had a core, all its threads together. */
  static double coreSeconds() {
    var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    return system.getProcessCpuTime() / 1e9;
  }

  static long heapBytes() {
    System.gc();
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }

  static String match(Engine engine, int first, int count) throws IOException {
    Pairs pairs = new Pairs();
    double core = coreSeconds();
    long start = System.nanoTime();
    for (int publication = first; publication < first + count; publication++) {
      int number = publication;
      engine.match(number, subscription -> pairs.add(number, subscription));
    }
    double seconds = (System.nanoTime() - start) / 1e9;
    core = coreSeconds() - core;
    return String.format(
        "{\"seconds\": %.9f, \"core\": %.9f, \"matches\": %d, \"digest\": \"%016x\"}",
        seconds, core, pairs.size / 2, pairs.hash());
  }

  public static void main(String[] arguments) throws IOException {
    String way = arguments[0];
    Path folder = Path.of(arguments[1]);
    String[][] subscriptions = readTokens(folder.resolve("subscriptions.i32"), PATTERNS);
    String[][] rows = readTokens(folder.resolve("publications.i32"), PAIRS);
    Publications publications = new Publications(rows, way.equals("rarest") ? RAREST : TOKEN);
    long before = heapBytes();
    long start = System.nanoTime();
    Engine engine = build(way, folder, subscriptions, rows, publications);
    double seconds = (System.nanoTime() - start) / 1e9;
    int count = subscriptions.length;
    long index = engine.fileBytes() + heapBytes() - before;
    System.out.printf(
        "{\"version\": \"Lucene %s, Java %s\", \"subscriptions\": %d, \"seconds\": %.3f, \"index\": %d}%n",
        org.apache.lucene.util.Version.LATEST, Runtime.version().feature(), count, seconds, index);
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      String[] words = line.trim().split(" ");
      System.out.println(match(engine, Integer.parseInt(words[0]), Integer.parseInt(words[1])));
    }
    System.exit(0); // Monitor's purging thread would go on
  }
}

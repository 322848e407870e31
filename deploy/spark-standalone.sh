#!/usr/bin/env bash
# A standalone Spark cluster from the installed package, until Ctrl-C (docs/run-the-pipeline.md):
#   deploy/spark-standalone.sh here [WORKERS]        a master and workers on this machine (default: 2)
#   deploy/spark-standalone.sh master                a master alone
#   deploy/spark-standalone.sh worker spark://HOST:PORT
# What ends is started again. Set PYTHON (the installation's), HOST, PORT, CORES and MEMORY (of a worker), FOLDER.
set -euo pipefail

PYTHON=${PYTHON:-python3}
HOST=${HOST:-127.0.0.1}
PORT=${PORT:-7077}
CORES=${CORES:-1}
MEMORY=${MEMORY:-1g}
FOLDER=${FOLDER:-$(mktemp -d -t triplecast-spark-XXXXXX)}
PYTHON=$(command -v "$PYTHON")

SPARK_HOME=$("$PYTHON" -c 'import pathlib, pyspark; print(pathlib.Path(pyspark.__file__).parent)')
JAVA_HOME=$("$PYTHON" -c 'import os; from triplecast.pipeline.java import find_java_home; print(find_java_home(os.environ))')
export SPARK_HOME JAVA_HOME SPARK_LOCAL_IP=$HOST PYSPARK_PYTHON=$PYTHON SPARK_SCALA_VERSION=2.13
export SPARK_LOCAL_DIRS=$FOLDER SPARK_DAEMON_MEMORY=${SPARK_DAEMON_MEMORY:-256m}
export SPARK_DAEMON_JAVA_OPTS="-XX:+UseSerialGC -XX:TieredStopAtLevel=1 ${SPARK_DAEMON_JAVA_OPTS:-}"
mkdir -p "$FOLDER"

keep_up() { # NAME COMMAND…: run it, and run it again when it ends
  local name=$1 child=
  shift
  trap 'if [[ -n $child ]]; then kill "$child" 2>/dev/null; wait "$child" 2>/dev/null; fi; exit 0' TERM INT
  while :; do
    "$SPARK_HOME/bin/spark-class" "$@" >>"$FOLDER/$name.log" 2>&1 &
    child=$!
    echo "$child" >"$FOLDER/$name.pid"
    wait "$child" || echo "$name ended and is started again; see $FOLDER/$name.log" >&2
    sleep 1
  done
}

master() {
  keep_up master org.apache.spark.deploy.master.Master --host "$HOST" --port "$PORT" --webui-port 0
}

worker() { # NUMBER URL
  keep_up "worker-$1" org.apache.spark.deploy.worker.Worker --host "$HOST" --cores "$CORES" --memory "$MEMORY" \
    --webui-port 0 --work-dir "$FOLDER/work-$1" "$2"
}

parts=()
case ${1:-} in
here)
  master & parts+=($!)
  for number in $(seq "${2:-2}"); do
    worker "$number" "spark://$HOST:$PORT" & parts+=($!)
  done
  ;;
master) master & parts+=($!) ;;
worker) worker 1 "${2:?give the master: spark://HOST:PORT}" & parts+=($!) ;;
*) sed -n '2,6s/^# //p' "$0" >&2 && exit 2 ;;
esac
trap 'kill "${parts[@]}" 2>/dev/null; wait; exit 0' TERM INT
echo "spark://$HOST:$PORT; its logs are in $FOLDER" >&2
wait

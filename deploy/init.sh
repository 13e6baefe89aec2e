#!/bin/sh
# init.sh [SERVER...]: makes what the services of compose.yaml share, in the volume /secrets: keys, passwords, and the configuration of NATS, with the
# names of the servers where it is a cluster. What is there already is kept. Each service has a user and a folder of its own, and reads no other's.
set -eu
umask 077
cd /secrets

random() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }

set -- ${1:+--cluster "$(echo "$*" | tr ' ' ',')"}
[ ! -e nats ] || set -- "$@" --keep-keys
inkstream nats-config --out nats --listen 0.0.0.0:4222 --monitor 0.0.0.0:8222 --store-dir /data "$@" >/dev/null
[ -e seal.key ] || head -c 32 /dev/urandom | base64 >seal.key
[ -e s3.password ] || random >s3.password
[ -e clickhouse.password ] || random >clickhouse.password

# grant NAME UID: gives a folder to the user that the service runs as.
grant() {
	chown -R "$2:$2" "$1"
	chmod -R u=rwX,go= "$1"
}

uid=65540
for name in admin gateway ingest scan render ocr index; do
	mkdir -p "$name"
	cp "nats/$name.nk" "$name/nats.nk"
	cp seal.key "$name/"
	{
		printf 'AWS_ACCESS_KEY_ID=inkstream\nAWS_SECRET_ACCESS_KEY=%s\n' "$(cat s3.password)"
		case $name in
		gateway | index) printf 'INDEX=clickhouse://inkstream:%s@clickhouse:9000/inkstream\n' "$(cat clickhouse.password)" ;;
		esac
	} >"$name/env"
	grant "$name" "$uid"
	uid=$((uid + 1))
done

mkdir -p nats-servers s3 clickhouse
cp nats/*.conf nats-servers/
printf 'ROOT_ACCESS_KEY=inkstream\nROOT_SECRET_KEY=%s\n' "$(cat s3.password)" >s3/env
printf 'CLICKHOUSE_PASSWORD=%s\n' "$(cat clickhouse.password)" >clickhouse/env
grant nats-servers 65550
grant s3 65551
grant clickhouse 65552
chmod 0711 /secrets

# The folders of the volumes. A bucket is a folder of the S3 server.
mkdir -p /data/s3/buckets/inkstream /data/s3/attributes
for nats in /data/nats*; do grant "$nats" 65550; done
grant /data/s3 65551
grant /data/clickhouse 65552
grant /data/gateway 65541

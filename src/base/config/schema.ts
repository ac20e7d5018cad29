/**
 * All settings, with their kinds and defaults.
 *
 * The code uses the names of the file. A key is added together with its feature and its lines in config/posthorn.toml;
 * a test compares the two. A secret may come from a file that another key names (`secret-files.ts`).
 */
import { z } from 'zod'
import { logLevels } from '../platform/log-levels.js'
import { logRooms } from '../platform/room-logs.js'
import { breakerSettings } from './breaker-schema.js'
import { MAX_POOL_RULES, MAX_SOURCES, poolRuleShape, sourceShape, warmUpSettings } from './source-schema.js'
import { nodeSettings, standbySettings, storageSettings } from './storage-schema.js'
import * as value from './values.js'

function section<S extends z.ZodRawShape>(shape: S): z.ZodObject<S, z.core.$strict> {
  const keys = Object.keys(shape).join(', ')
  return z.strictObject(shape, {
    error: ({ code }) => (code === 'unrecognized_keys' ? keys : `a section with ${keys}`),
  })
}

/** `complete.ts` sets the defaults that depend on the machine or on another key. */
const service = section({
  hostname: value.hostName.optional(),
  data_dir: value.path.optional(),
  zone: value.hostName.optional(),
  inbound_mx_host: value.hostName.optional(),
  mail_from: value.mailbox.optional(),
  public_url: value.publicUrl.optional(),
  public_addresses: value.list(value.hostAddress, 'addresses').prefault([]),
})

const tls = section({
  cert_file: value.pathOrNone.prefault(''),
  key_file: value.pathOrNone.prefault(''),
  acme: section({
    enabled: value.flag.prefault(false),
    directory: value.httpsUrl.prefault('https://acme-v02.api.letsencrypt.org/directory'),
    email: value.mailboxOrNone.prefault(''),
    http_listen: value.list(value.listen, 'addresses with a port').prefault(['0.0.0.0:80']),
    ca_file: value.pathOrNone.prefault(''),
  }).prefault({}),
})

/** Hosted services whose clients the REST interface can serve. */
const compatibleServices = ['resend', 'postmark', 'sendgrid', 'mailgun', 'ses', 'zeptomail'] as const

const api = section({
  listen: value.list(value.apiListen, 'addresses with a port, or Unix sockets').prefault(['127.0.0.1:8443']),
  trusted_proxies: value.list(value.network, 'networks').prefault([]),
  max_connections: value.count(1, 100_000).prefault(1000),
  max_connections_per_address: value.count(1, 100_000).prefault(200),
  max_connections_per_network: value.count(1, 100_000).prefault(500),
  compatible: value.list(value.oneOf(...compatibleServices), 'names of services').prefault([...compatibleServices]),
})

const trusted = section({
  network: value.network,
  workspace: value.workspaceId,
  sender: value.mailboxOrNone.prefault(''),
})

const submission = section({
  listen: value.list(value.listen, 'addresses with a port').prefault(['127.0.0.1:1587']),
  listen_tls: value.list(value.listen, 'addresses with a port').prefault(['127.0.0.1:1465']),
  allow_plaintext_loopback: value.flag.prefault(false),
  max_connections: value.count(1, 100_000).prefault(1000),
  max_connections_per_address: value.count(1, 100_000).prefault(200),
  max_connections_per_network: value.count(1, 100_000).prefault(500),
  max_size: value.size('1KB', '100MB').prefault('15MB'),
  max_recipients: value.count(1, 1000).prefault(100),
  max_line_length: value.count(78, 1_000_000).prefault(998),
  auth_timeout: value.duration('10m').prefault('30s'),
  min_data_rate: value.count(1, 1_000_000).prefault(500),
  min_data_rate_patience: value.duration('10m').prefault('1m'),
  session_deadline: value.duration('1d').prefault('1h'),
  trusted: value.list(trusted, '[[submission.trusted]] sections').prefault([]),
})

const dnsbl = section({ zone: value.hostName, weight: value.weight.prefault(2) })

const dnswl = section({ zone: value.hostName, weight: value.weight.prefault(1) })

const greylisting = section({
  enabled: value.flag.prefault(false),
  delay: value.duration('1h').prefault('5m'),
  retry_window: value.duration('7d').prefault('2d'),
  remember: value.duration('400d').prefault('36d'),
  exempt: value.list(value.network, 'networks').prefault([]),
})

const inbound = section({
  listen: value.list(value.listen, 'addresses with a port').prefault(['127.0.0.1:2525']),
  proxies: value.list(value.network, 'networks').prefault([]),
  max_connections: value.count(1, 100_000).prefault(1000),
  max_connections_per_address: value.count(1, 100_000).prefault(50),
  max_connections_per_network: value.count(1, 100_000).prefault(200),
  connections_per_minute: value.count(1, 1_000_000).prefault(300),
  messages_per_minute: value.count(1, 1_000_000).prefault(1000),
  bytes_per_minute: value.size('1KB', '10000GB').prefault('200MB'),
  max_size: value.size('1KB', '100MB').prefault('35MB'),
  max_recipients: value.count(1, 1000).prefault(100),
  min_data_rate: value.count(1, 1_000_000).prefault(500),
  min_data_rate_patience: value.duration('10m').prefault('1m'),
  session_deadline: value.duration('1d').prefault('1h'),
  early_talkers: value.oneOf('note', 'refuse').prefault('note'),
  max_refused_recipients: value.count(1, 1000).prefault(20),
  tarpit: value.duration('30s').prefault('5s'),
  dnsbl: value.list(dnsbl, '[[inbound.dnsbl]] sections').prefault([]),
  refuse_listed_from: value.weight.optional(),
  dnswl: value.list(dnswl, '[[inbound.dnswl]] sections').prefault([]),
  dmarc: value.oneOf('reject', 'quarantine', 'report').prefault('reject'),
  mta_sts: value.oneOf('off', 'testing', 'enforce', 'none').prefault('off'),
  mta_sts_max_age: value.duration('365d').prefault('7d'),
  greylisting: greylisting.prefault({}),
})

const spam = section({
  suspicious_score: value.weight.prefault(4),
  spam_score: value.weight.prefault(8),
  rspamd_url: value.httpUrlOrNone.prefault(''),
  rspamd_url_file: value.pathOrNone.prefault(''),
})

const dns = section({
  servers: value.list(value.dnsServer, 'DNS servers').prefault([]),
  zone_listen: value.list(value.listen, 'addresses with a port').prefault([]),
  nameservers: value.list(value.hostName, 'names of name servers').prefault([]),
  ttl: value.duration('7d').prefault('1h'),
  caa: value.list(value.hostName, 'names of certificate authorities').prefault([]),
  secondaries: value.list(value.network, 'networks').prefault([]),
  notify: value.list(value.dnsServer, 'DNS servers').prefault([]),
})

const metrics = section({
  listen: value.list(value.listen, 'addresses with a port').prefault([]),
})

const ui = section({
  enabled: value.flag.prefault(true),
  session_idle: value.duration('30d').prefault('12h'),
  session_max: value.duration('90d').prefault('7d'),
})

const outbound = section({
  port: value.count(1, 65_535).prefault(25),
  source_addresses: value.list(value.address, 'addresses of this machine').prefault([]),
  sources: value
    .list(section(sourceShape), '[[outbound.sources]] sections')
    .max(MAX_SOURCES, `up to ${MAX_SOURCES} sections`)
    .prefault([]),
  pool_rules: value
    .list(section(poolRuleShape), '[[outbound.pool_rules]] sections')
    .max(MAX_POOL_RULES, `up to ${MAX_POOL_RULES} sections`)
    .prefault([]),
  ...warmUpSettings,
  allowed_private_networks: value.list(value.network, 'networks').prefault([]),
  routes: z.record(value.routeDomain, value.routeTarget, 'a table of domain = "host:port"').prefault({}),
  routes_file: value.pathOrNone.prefault(''),
  max_connections: value.count(1, 10_000).prefault(100),
  max_connections_per_host: value.count(1, 10_000).prefault(10),
  retry_schedule: value.nonEmptyList(value.duration(), 'durations').prefault(['5m', '15m', '30m', '1h', '2h', '4h']),
  expire_after: value.duration().prefault('4d'),
  delay_notice_after: value.duration().prefault('4h'),
  forward_bounces: value.flag.prefault(true),
  dane: value.oneOf('auto', 'off').prefault('auto'),
  mta_sts: value.flag.prefault(true),
  tls_reports: value.flag.prefault(true),
})

const webhooks = section({
  retry_schedule: value.nonEmptyList(value.duration(), 'durations').prefault(['1m', '5m', '30m', '2h', '8h']),
  timeout: value.duration('5m').prefault('10s'),
  allowed_private_networks: value.list(value.network, 'networks').prefault([]),
})

const sms = section({
  provider: value.oneOf('', 'smpp', 'http', 'log').prefault(''),
  sender: value.smsSender.prefault('Posthorn'),
  allowed_countries: value.list(value.phoneCountry, 'countries').prefault([]),
  limits: section({
    per_phone_per_hour: value.count(1, 1000).prefault(5),
    per_phone_per_day: value.count(1, 1000).prefault(10),
    per_range_per_hour: value.count(1, 10_000).prefault(50),
    per_workspace_per_minute: value.count(1, 100_000).prefault(30),
    per_workspace_per_hour: value.count(1, 1_000_000).prefault(1000),
    per_workspace_per_day: value.count(1, 1_000_000).prefault(5000),
    min_verified_percent: value.count(0, 100).prefault(10),
  }).prefault({}),
  http: section({
    style: value.oneOf('twilio', 'template').prefault('twilio'),
    url: value.httpUrlOrNone.prefault(''),
    username: value.secret.prefault(''),
    password: value.secret.prefault(''),
    password_file: value.pathOrNone.prefault(''),
    body_template: value.secret.prefault('{"to":"{to}","text":"{text}"}'),
    body_template_file: value.pathOrNone.prefault(''),
  }).prefault({}),
  smpp: section({
    url: value.smppUrlOrNone.prefault(''),
    system_id: value.secret.prefault(''),
    password: value.secret.prefault(''),
    password_file: value.pathOrNone.prefault(''),
    ca_file: value.pathOrNone.prefault(''),
  }).prefault({}),
})

const retention = section({
  messages: value.duration().prefault('30d'),
  events: value.duration().prefault('90d'),
  links: value.duration().prefault('400d'),
  audit: value.duration().prefault('400d'),
  reports: value.duration().prefault('400d'),
  files: value.duration().prefault('30d'),
  exports: value.duration('7d').prefault('7d'),
})

/** One plan of `limits.plans`. */
export const plan = section({
  requests_per_second: value.count(1, 1_000_000).optional(),
  burst: value.count(1, 1_000_000).optional(),
  requests_per_minute: value.count(1, 60_000_000).optional(),
  requests_per_day: value.count(1, 1_000_000_000).optional(),
  emails_per_day: value.count(0, 1_000_000_000).optional(),
  emails_per_month: value.count(0, 1_000_000_000).optional(),
  credits: value.count(0, 1_000_000_000_000).optional(),
  inbound_bytes: value.bytes.optional(),
})

const limits = section({
  default_plan: value.planName.prefault('unlimited'),
  create_workspaces: value.oneOf('owners', 'operator').prefault('owners'),
  domain_emails_per_day: value.count(1, 1_000_000_000).prefault(200_000),
  invitations_per_day: value.count(1, 1_000_000).prefault(1_000),
  operator_inbound_bytes: value.bytes.prefault('10GB'),
  inbound_disk_percent: value.weight.prefault(80),
  breaker: section(breakerSettings).prefault({}),
  plans: z.record(value.planName, plan, 'a table of plans').prefault({}),
})

const doctor = section({
  daily: value.flag.prefault(true),
  mx_domains: value.list(value.hostName, 'domains').prefault(['gmail.com', 'outlook.com', 'gmx.net']),
  time_url: value.httpsUrlOrNone.prefault('https://www.debian.org/'),
  block_lists: value
    .list(value.hostName, 'zones of DNS block lists')
    .prefault(['zen.spamhaus.org', 'bl.spamcop.net', 'psbl.surriel.com']),
  backup_folder: value.pathOrNone.prefault(''),
  backup_max_age: value.duration().prefault('2d'),
})

const log = section({
  level: value.oneOf(...logLevels).prefault('info'),
  levels: z
    .partialRecord(
      value.oneOf(...logRooms),
      value.oneOf(...logLevels),
      `component = "level", with the components ${logRooms.join(', ')}`,
    )
    .prefault({}),
  hash_local_parts: value.flag.prefault(false),
  format: value.oneOf('json', 'pretty').prefault('json'),
})

export const settings = section({
  service: service.prefault({}),
  tls: tls.prefault({}),
  api: api.prefault({}),
  submission: submission.prefault({}),
  inbound: inbound.prefault({}),
  spam: spam.prefault({}),
  dns: dns.prefault({}),
  metrics: metrics.prefault({}),
  ui: ui.prefault({}),
  outbound: outbound.prefault({}),
  webhooks: webhooks.prefault({}),
  sms: sms.prefault({}),
  retention: retention.prefault({}),
  standby: section(standbySettings).prefault({}),
  storage: section(storageSettings).prefault({}),
  node: section(nodeSettings).prefault({}),
  limits: limits.prefault({}),
  doctor: doctor.prefault({}),
  log: log.prefault({}),
})

/** The settings as parsed: durations in milliseconds, sizes in bytes. */
export type Settings = z.output<typeof settings>

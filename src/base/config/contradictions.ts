/**
 * Settings that are valid one by one and contradict each other.
 *
 * Durations are compared only if the file states both: shortening `expire_after` to an hour does not contradict
 * the default of another key.
 */
import type { Network } from '../platform/ip-address.js'
import { formatListenerAddress, listListeners } from './listeners.js'
import { builtInPlans, limitsOfPlan, type PlanLimits, type Plans, UNLIMITED } from './plans.js'
import type { Problem } from './problems.js'
import type { Settings } from './schema.js'
import { findSourceContradictions } from './source-contradictions.js'

/** The content of the file, after validation. */
export interface FileSettings {
  readonly outbound?: Readonly<Record<string, unknown>>
  readonly spam?: Readonly<Record<string, unknown>>
  readonly ui?: Readonly<Record<string, unknown>>
}

const NOT_WHOLE_INTERNET = 'allowed: a network that is not the whole internet'

export function findContradictions(settings: Settings, written: FileSettings): readonly Problem[] {
  return [
    ...findLongZone(settings.service),
    ...findHalfPair(settings.tls),
    ...findAcmeContradictions(settings),
    ...findTwoCopies(settings),
    ...findLoneNode(settings),
    ...findLongWaits(settings.outbound, written.outbound ?? {}),
    ...findSourceContradictions(settings.outbound),
    ...findLongIdleTime(settings.ui, written.ui ?? {}),
    ...findSharedListeners(settings),
    ...findWideNetworks('api.trusted_proxies', settings.api.trusted_proxies),
    ...findWideNetworks('inbound.proxies', settings.inbound.proxies),
    ...findWideNetworks('dns.secondaries', settings.dns.secondaries),
    ...findIncompleteZone(settings.dns),
    ...findInboundContradictions(settings.inbound),
    ...findReversedScores(settings.spam, written.spam ?? {}),
    ...findWideTrust(settings.submission.trusted),
    ...findSmsContradictions(settings.sms),
    ...findBreakerContradictions(settings.limits),
    ...findUnknownPlan(settings.limits),
    ...findInvalidPlans(settings.limits.plans),
  ]
}

/** The longest address that is derived from the zone has this in front (RFC 5321). */
const MAX_ZONE_LENGTH = 254 - 'soft-bounce@simulator.'.length

function findLongZone({ hostname, zone }: Settings['service']): readonly Problem[] {
  const key = zone === undefined ? 'service.hostname' : 'service.zone'
  const length = (zone ?? hostname)?.length ?? 0
  if (length <= MAX_ZONE_LENGTH) return []
  return [{ key, message: `found a name of ${length} characters; allowed: up to ${MAX_ZONE_LENGTH}` }]
}

function findHalfPair({ cert_file, key_file }: Settings['tls']): readonly Problem[] {
  if ((cert_file === '') === (key_file === '')) return []
  const [key, other] = cert_file === '' ? ['tls.key_file', 'tls.cert_file'] : ['tls.cert_file', 'tls.key_file']
  return [{ key, message: `found without ${other}; allowed: both, or neither for a self-signed pair` }]
}

/** Certificates come from one source, and a challenge must have a listener that answers it. */
function findAcmeContradictions({ tls: { acme, cert_file }, api }: Settings): readonly Problem[] {
  if (!acme.enabled) return []
  const key = 'tls.acme.enabled'
  const both = 'found true, and tls.cert_file is set; allowed: one of them'
  const unreachable = 'found true without tls.acme.http_listen and a TLS address in api.listen; allowed: at least one'
  const hasListener = acme.http_listen.length > 0 || api.listen.some(({ kind }) => kind === 'tls')
  return [
    ...(cert_file === '' ? [] : [{ key, message: both }]),
    ...(hasListener ? [] : [{ key, message: unreachable }]),
  ]
}

/** The standby is a copy of SQLite's files. A daemon that ignored its folder would leave an operator without the copy they count on. */
function findTwoCopies({ standby, storage }: Settings): readonly Problem[] {
  if (standby.folder === '' || storage.url === '') return []
  const cure = 'one of them: the tools of PostgreSQL copy its database (docs/postgresql.md)'
  const message = `found ${JSON.stringify(standby.folder)}, and storage.url is set; allowed: ${cure}`
  return [{ key: 'standby.folder', message }]
}

/** With SQLite there is one daemon, which needs no name among others. */
function findLoneNode({ node, storage }: Settings): readonly Problem[] {
  if (node.name === '' || storage.url !== '') return []
  const message = `found ${JSON.stringify(node.name)}, and storage.url is not set; allowed: several daemons on PostgreSQL alone (docs/scaling.md)`
  return [{ key: 'node.name', message }]
}

function findLongIdleTime(ui: Settings['ui'], written: Readonly<Record<string, unknown>>): readonly Problem[] {
  const { session_idle: idle, session_max: max } = written
  if (idle === undefined || max === undefined || ui.session_idle <= ui.session_max) return []
  const message = `found ${JSON.stringify(idle)}; allowed: up to ui.session_max, ${JSON.stringify(max)}`
  return [{ key: 'ui.session_idle', message }]
}

function findLongWaits(outbound: Settings['outbound'], written: Readonly<Record<string, unknown>>): readonly Problem[] {
  if (written['expire_after'] === undefined) return []
  const limit = `allowed: less than outbound.expire_after, ${JSON.stringify(written['expire_after'])}`
  const problems: Problem[] = []
  const schedule = written['retry_schedule']
  if (Array.isArray(schedule)) {
    outbound.retry_schedule.forEach((step, at) => {
      if (step < outbound.expire_after) return
      problems.push({
        key: `outbound.retry_schedule[${at}]`,
        message: `found ${JSON.stringify(schedule[at])}; ${limit}`,
      })
    })
  }
  const notice = written['delay_notice_after']
  if (notice !== undefined && outbound.delay_notice_after >= outbound.expire_after) {
    problems.push({ key: 'outbound.delay_notice_after', message: `found ${JSON.stringify(notice)}; ${limit}` })
  }
  return problems
}

function findSharedListeners(settings: Settings): readonly Problem[] {
  const seen = new Map<string, string>()
  return listListeners(settings).flatMap(({ key, address }) => {
    // Any free port, which no other listener shares.
    if ('port' in address && address.port === 0) return []
    const text = formatListenerAddress(address)
    const first = seen.get(text)
    if (first === undefined) {
      seen.set(text, key)
      return []
    }
    return [{ key, message: `found ${JSON.stringify(text)}, which ${first} has; allowed: each address once` }]
  })
}

/** If every address were a proxy, every client could claim any address. A list of secondaries with every address has no meaning. */
function findWideNetworks(key: string, networks: readonly Network[]): readonly Problem[] {
  return networks.flatMap(({ text, prefixLength }, at) =>
    prefixLength === 0
      ? [{ key: `${key}[${at}]`, message: `found ${JSON.stringify(text)}; ${NOT_WHOLE_INTERNET}` }]
      : [],
  )
}

/** A zone must name its servers (RFC 1035 section 5.2), and only a listener can serve secondaries. */
function findIncompleteZone({ zone_listen, nameservers, ...dns }: Settings['dns']): readonly Problem[] {
  if (zone_listen.length > 0) {
    const message = 'found without dns.nameservers; allowed: both, or no listener'
    return nameservers.length > 0 ? [] : [{ key: 'dns.zone_listen', message }]
  }
  return (['secondaries', 'notify'] as const).flatMap((key) =>
    dns[key].length === 0
      ? []
      : [{ key: `dns.${key}`, message: 'found without dns.zone_listen; allowed: both, or neither' }],
  )
}

/**
 * If it were above `spam_score`, no message would ever be suspicious. The problem names the key that the file states.
 */
function findReversedScores(spam: Settings['spam'], written: Readonly<Record<string, unknown>>): readonly Problem[] {
  const { suspicious_score, spam_score } = spam
  if (suspicious_score <= spam_score) return []
  if (written['suspicious_score'] === undefined) {
    const message = `found ${spam_score}; allowed: at least spam.suspicious_score, ${suspicious_score}`
    return [{ key: 'spam.spam_score', message }]
  }
  const message = `found ${suspicious_score}; allowed: at most spam.spam_score, ${spam_score}`
  return [{ key: 'spam.suspicious_score', message }]
}

/** Trusting every address would make the workspace an open relay. */
function findWideTrust(trusted: Settings['submission']['trusted']): readonly Problem[] {
  return trusted.flatMap(({ network: { text, prefixLength } }, at) => {
    const key = `submission.trusted[${at}].network`
    if (prefixLength === 0) return [{ key, message: `found ${JSON.stringify(text)}; ${NOT_WHOLE_INTERNET}` }]
    const first = trusted.findIndex(({ network }) => network.text === text)
    const message = `found ${JSON.stringify(text)}, as in submission.trusted[${first}]; allowed: each network once`
    return first === at ? [] : [{ key, message }]
  })
}

function findUnknownPlan({ default_plan, plans }: Settings['limits']): readonly Problem[] {
  const all = { ...builtInPlans, ...plans }
  if (limitsOfPlan(all, default_plan) !== undefined) return []
  const names = [UNLIMITED, ...Object.keys(all)].map((name) => JSON.stringify(name)).join(', ')
  return [{ key: 'limits.default_plan', message: `found ${JSON.stringify(default_plan)}; allowed: one of ${names}` }]
}

function findInvalidPlans(plans: Plans): readonly Problem[] {
  return Object.entries(plans).flatMap(([name, plan]) => {
    const key = `limits.plans.${/^[\w-]+$/.test(name) ? name : JSON.stringify(name)}`
    return name === UNLIMITED
      ? [{ key, message: 'found a plan of this name; allowed: any other name, for this one has no limits' }]
      : findInvalidBurst(key, plan)
  })
}

function findInvalidBurst(plan: string, { burst, requests_per_second }: PlanLimits): readonly Problem[] {
  if (burst === undefined) return []
  const key = `${plan}.burst`
  if (requests_per_second === undefined) {
    return [{ key, message: `found without ${plan}.requests_per_second; allowed: both, or no burst` }]
  }
  if (burst >= requests_per_second) return []
  return [{ key, message: `found ${burst}; allowed: at least requests_per_second, ${requests_per_second}` }]
}

function findInboundContradictions({ dnsbl, dnswl, greylisting }: Settings['inbound']): readonly Problem[] {
  return [
    ...findRepeatedLists('inbound.dnsbl', dnsbl),
    ...findRepeatedLists('inbound.dnswl', dnswl),
    ...findShortTimes(greylisting),
  ]
}

/** A list that is queried twice would count twice. */
function findRepeatedLists(name: string, lists: readonly { readonly zone: string }[]): readonly Problem[] {
  return lists.flatMap(({ zone }, at) => {
    const first = lists.findIndex((other) => other.zone === zone)
    const message = `found ${JSON.stringify(zone)}, as in ${name}[${first}]; allowed: each zone once`
    return first === at ? [] : [{ key: `${name}[${at}].zone`, message }]
  })
}

/** If a client may no longer come back at the time when it may come again, none would ever pass. */
function findShortTimes({ delay, retry_window, remember }: Settings['inbound']['greylisting']): readonly Problem[] {
  const limit = 'allowed: longer than inbound.greylisting.delay'
  return Object.entries({ retry_window, remember }).flatMap(([key, time]) =>
    time > delay ? [] : [{ key: `inbound.greylisting.${key}`, message: `found ${time / 1_000} s; ${limit}` }],
  )
}

type Sms = Settings['sms']

function findSmsContradictions(sms: Sms): readonly Problem[] {
  return [...findIncompleteProvider(sms), ...findForeignSender(sms), ...findBadTemplate(sms.http)]
}

function findIncompleteProvider({ provider, http, smpp }: Sms): readonly Problem[] {
  const lack = (key: string): Problem => ({ key, message: `found nothing; needed by sms.provider = "${provider}"` })
  if (provider === 'http') return http.url === null ? [lack('sms.http.url')] : []
  if (provider !== 'smpp') return []
  return [
    ...(smpp.url === null ? [lack('sms.smpp.url')] : []),
    ...(smpp.system_id === '' ? [lack('sms.smpp.system_id')] : []),
  ]
}

/** Only Twilio has messaging services. */
function findForeignSender({ provider, sender, http }: Sms): readonly Problem[] {
  if (!/^MG[0-9a-f]{32}$/.test(sender) || provider === '') return []
  if (provider === 'http' && http.style === 'twilio') return []
  const message = 'found the id of a messaging service; allowed: with sms.provider = "http" and its style "twilio"'
  return [{ key: 'sms.sender', message }]
}

/** The template may hold a password, so no message repeats it. */
function findBadTemplate({ style, body_template: template }: Sms['http']): readonly Problem[] {
  if (style !== 'template') return []
  const key = 'sms.http.body_template'
  const absent = ['{to}', '{text}'].filter((placeholder) => !template.includes(placeholder))
  if (absent.length > 0) return [{ key, message: `found none of ${absent.join(', ')}; allowed: a text with both` }]
  if (!/^\s*[{[]/.test(template) || isJson(template.replaceAll(/\{[a-z_]+\}/g, 'x'))) return []
  return [{ key, message: 'found no JSON; allowed: JSON with its placeholders inside of strings, XML, or a form' }]
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** A hold below its warning would never be warned of. */
function findBreakerContradictions({ breaker }: Settings['limits']): readonly Problem[] {
  return (['bounce', 'complaint'] as const).flatMap((cause) => {
    const [warn, hold] = [breaker[`${cause}_warn_percent`], breaker[`${cause}_hold_percent`]]
    if (warn <= hold) return []
    const message = `found ${hold}; allowed: at least limits.breaker.${cause}_warn_percent, ${warn}`
    return [{ key: `limits.breaker.${cause}_hold_percent`, message }]
  })
}

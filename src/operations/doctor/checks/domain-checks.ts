/**
 * Checks the DNS records of sending domains as they are now: SPF, DKIM, DMARC, and the MX records of domains that
 * receive mail.
 *
 * It judges as verification does (`domains/verification/`) and changes nothing. If there are more verified domains than
 * `MAX_DOMAINS`, it looks the newest up; the check `domains` has what verification itself knows about all others.
 */

import { formatTimestamp } from '../../../base/platform/clock.js'
import { dkimKeysOf } from '../../../workspaces/domains/dkim/signing-keys.js'
import type { SendingDomain } from '../../../workspaces/domains/rows/sending-domains.js'
import { describeTrouble, readDomainsInSteps } from '../../../workspaces/domains/troubled-domains.js'
import { suggestDmarcPolicy } from '../../../workspaces/domains/verification/dns-records.js'
import {
  judgeDmarc,
  judgeInboundMx,
  judgeRecords,
  type RecordsFinding,
} from '../../../workspaces/domains/verification/judge-records.js'
import {
  type DomainAnswers,
  dmarcNameOf,
  lookUpRecords,
} from '../../../workspaces/domains/verification/look-up-records.js'
import { recordsOf } from '../answers.js'
import type { Check, CheckDeps } from '../check.js'
import { failure, good, type Judgement, type Remedy, undecided, warning } from '../finding.js'

/** Domains with records that are looked up. Each takes a dozen queries. */
const MAX_DOMAINS = 100
/** Domains in trouble that are named. */
const MAX_TROUBLED = 100

interface ExaminedDomain {
  readonly row: SendingDomain
  readonly answers: DomainAnswers
  readonly records: readonly RecordsFinding[]
}

export const domainChecks: readonly Check[] = [
  {
    name: 'spf',
    summary: 'the mail host of each domain lets this service send',
    run: (deps) => judgeEach(deps, judgeSpf),
  },
  { name: 'dkim', summary: 'the DKIM keys of each domain are in DNS', run: (deps) => judgeEach(deps, judgeDkim) },
  {
    name: 'dmarc',
    summary: 'each domain has a DMARC policy',
    run: (deps) => judgeEach(deps, (domain) => judgePolicy(domain, deps.config.service.zone)),
  },
  {
    name: 'mx',
    summary: 'the MX records of domains that receive mail lead here',
    run: (deps) => judgeEach(deps, (domain) => judgeMx(domain, deps.config.service.inbound_mx_host)),
  },
  { name: 'domains', summary: 'each domain can send, and will not stop soon', run: listTroubled },
]

/** The answers of one run serve all checks of domains. */
const examinations = new WeakMap<CheckDeps, Promise<readonly ExaminedDomain[]>>()

async function judgeEach(
  deps: CheckDeps,
  judge: (domain: ExaminedDomain) => readonly Judgement[],
): Promise<readonly Judgement[]> {
  const running = examinations.get(deps) ?? examineDomains(deps)
  examinations.set(deps, running)
  return (await running).flatMap(judge)
}

async function examineDomains(deps: CheckDeps): Promise<readonly ExaminedDomain[]> {
  const { read, resolver, config } = deps
  if (read === null) return []
  const rows: SendingDomain[] = []
  for await (const page of readDomainsInSteps(read)) {
    rows.push(...page.filter(({ status, forced }) => status === 'verified' && forced === 0))
  }
  return Promise.all(
    rows.slice(-MAX_DOMAINS).map(async (row) => {
      const answers = await lookUpRecords(resolver, row, config.service)
      const keys = await dkimKeysOf(read, { workspaceId: row.workspace_id, domain: row.domain })
      return { row, answers, records: judgeRecords(answers, row, keys, config.service) }
    }),
  )
}

function judgeSpf({ row: { domain }, records }: ExaminedDomain): readonly Judgement[] {
  return records
    .filter(({ purpose }) => purpose === 'mail_cname')
    .map((record) => judgeRecord(domain, record, 'the SPF record of the return paths', 'SPF fails at receivers'))
}

function judgeDkim({ row: { domain }, records, answers }: ExaminedDomain): readonly Judgement[] {
  return records.flatMap((record) => {
    const { purpose, state, visible, value } = record
    if (purpose === 'mail_cname') return []
    const subject = `${purpose} ${domain}`
    if (state !== 'verified' || visible) {
      return [judgeRecord(subject, record, 'the DKIM key', 'receivers cannot verify the signatures')]
    }
    const look: Remedy = [`dig ${value} TXT`]
    const { txt } = answers.keys[purpose]
    if (txt.kind === 'failure') return [undecided(subject, `DNS gave no answer for ${value}`, look)]
    const text = `the CNAME is right, but DNS does not show the key at ${value}: see the check zone, or publish what "posthorn zone" prints`
    return [failure(subject, text, look)]
  })
}

function judgeRecord(subject: string, record: RecordsFinding, what: string, effect: string): Judgement {
  const { name, value, state, found } = record
  const remedy: Remedy = [`${name}. CNAME ${value}.`]
  switch (state) {
    case 'verified':
      return good(subject, `${what} is in DNS`)
    case 'awaited':
      return good(subject, `${what} is new and not in DNS yet, so it does not sign yet`)
    case 'unknown':
      return undecided(subject, `DNS gave no answer for ${name}`, [`dig ${name}`])
    case 'failed':
      return failure(subject, `${what}: found ${found ?? 'nothing'} at ${name}; ${effect}`, remedy)
  }
}

function judgePolicy({ row: { domain }, answers: { dmarc } }: ExaminedDomain, zone: string): readonly Judgement[] {
  const name = dmarcNameOf(domain)
  switch (judgeDmarc(dmarc)) {
    case 'verified':
      return [good(domain, recordsOf(dmarc)[0] ?? '')]
    case 'pending':
      return [
        warning(domain, `there is no DMARC policy: large providers ask bulk senders for one`, [
          `${name}. TXT "${suggestDmarcPolicy(zone)}"`,
        ]),
      ]
    default:
      return [undecided(domain, `DNS gave no answer for ${name}`, [`dig ${name} TXT`])]
  }
}

function judgeMx({ row: { domain, inbound }, answers }: ExaminedDomain, host: string): readonly Judgement[] {
  if (inbound === 0) return []
  switch (judgeInboundMx(answers.inboundMx, host)) {
    case 'verified':
      return [good(domain, `the MX record leads to ${host}`)]
    case 'failed':
      return [
        failure(domain, `no MX record leads to ${host}: mail to the domain goes to another server, or nowhere`, [
          `${domain}. MX 10 ${host}.`,
        ]),
      ]
    default:
      return [undecided(domain, 'DNS gave no answer for the MX records', [`dig ${domain} MX`])]
  }
}

async function listTroubled({ read }: CheckDeps): Promise<readonly Judgement[]> {
  if (read === null) return []
  const found: Judgement[] = []
  let total = 0
  for await (const page of readDomainsInSteps(read)) {
    total += page.length
    for (const row of page) if (found.length < MAX_TROUBLED) found.push(...judgeTrouble(row))
  }
  return found.length > 0 ? found : [good('all domains', describeTotal(total))]
}

function describeTotal(total: number): string {
  if (total === 0) return 'there is no domain yet'
  return total === 1 ? 'the only domain has no problem' : `none of ${total} domains has a problem`
}

export function judgeTrouble(
  row: Pick<SendingDomain, 'domain' | 'status' | 'unproved_since' | 'workspace_id'>,
): readonly Judgement[] {
  const trouble = describeTrouble(row)
  const remedy: Remedy = [
    `posthorn domain show ${row.domain} --workspace ${row.workspace_id}`,
    `posthorn domain verify ${row.domain} --workspace ${row.workspace_id}`,
  ]
  switch (trouble.kind) {
    case 'failed':
      return [warning(row.domain, 'DNS records of the domain are missing: Posthorn accepts no mail from it', remedy)]
    case 'grace':
      return [
        warning(
          row.domain,
          `DNS records of the domain are missing: sending stops at ${formatTimestamp(trouble.failsAt)}`,
          remedy,
        ),
      ]
    case 'none':
      return []
  }
}

/**
 * Checks DMARC (RFC 9989, with its tree walk; the Public Suffix List plays no part), by mailauth in its strict mode.
 *
 * `pct` is ignored, as in RFC 9989; `t=y` lowers the policy by one step. A message whose author is not of exactly
 * one domain gets `permerror`, with mailauth's reason.
 *
 * The result is `temperror` if the message could have passed had DNS answered: a signature or return path that
 * would align and whose own check ended so. One that would not align has no effect, or every forger would sign
 * with a domain whose servers do not answer.
 */
import type { DNSResolver } from 'mailauth'
import { evaluateDmarc } from 'mailauth/lib/dmarc/index.js'
import type {
  DkimVerdict,
  DmarcPolicy,
  DmarcResult,
  DmarcVerdict,
  SpfVerdict,
} from '../../../base/mail/authentication-results.js'
import { findFields, type Header, readFieldValue } from '../../../base/mail/header-fields.js'
import { readAuthors } from '../../../base/mail/header-mailboxes.js'
import { MAX_LIST_LENGTH } from '../../../base/mail/mailbox-list.js'
import { Refusal } from '../../../base/mail/refusal.js'

interface DmarcInput {
  /** Addresses of the From fields as they are written, valid or not. */
  readonly authors: readonly string[]
  readonly fromFields: number
  readonly spf: SpfVerdict
  readonly dkim: readonly DkimVerdict[]
}

/** Octets of the From fields. */
const MAX_FROM = MAX_LIST_LENGTH

/**
 * The parser that records and spam rules use reads them, and mailauth gets them too, so DMARC judges the shown author.
 * An address that is not valid counts, because readers may see its domain.
 */
export function readAuthorAddresses(raw: Buffer, header: Header): readonly string[] {
  // The name of the field and its line end count. Folds do not: many lines are no fault.
  const octets = findFields(header, 'from')
    .map((field) => Buffer.byteLength(readFieldValue(raw, field)) + 'From: \r\n'.length)
    .reduce((sum, size) => sum + size, 0)
  if (octets > MAX_FROM) throw new Refusal('malformed-message', `From of ${octets} octets, more than ${MAX_FROM}`)
  return readAuthors(raw, header).flatMap(({ written }) => (written === '' ? [] : [written]))
}

/** All that the check reads of its input. */
export function toDmarcKey({ authors, fromFields, spf, dkim }: DmarcInput): string {
  const signers = dkim.map(({ result, domain }) => [result, domain])
  return JSON.stringify([authors, fromFields, spf.result, spf.domain, signers])
}

type DmarcEvaluation = Awaited<ReturnType<typeof evaluateDmarc>>

export async function checkDmarc(input: DmarcInput, resolver: DNSResolver): Promise<DmarcVerdict> {
  const evaluation = await evaluate(input, ['pass'], resolver)
  if (evaluation.response === false) {
    return { ...noVerdict, result: 'permerror', reason: evaluation.reason ?? 'no-author-domain' }
  }
  const verdict = verdictOf(evaluation.response, input)
  if (verdict.result !== 'fail' || !hasTemperror(input)) return verdict
  const perhaps = await evaluate(input, ['pass', 'temperror'], resolver)
  if (perhaps.response !== false && perhaps.response.status.result === 'fail') return verdict
  return { ...verdict, result: 'temperror', disposition: 'none', reason: 'no answer from DNS' }
}

/** Requests the records early, so that nothing the sender controls can use up their time. */
export async function prefetchDmarc(input: Omit<DmarcInput, 'spf' | 'dkim'>, resolver: DNSResolver): Promise<true> {
  await evaluateDmarc({ headerFrom: [...input.authors], fromFields: input.fromFields, resolver, strict: true })
  return true
}

const noVerdict = { domain: null, policyDomain: null, policy: null, disposition: 'none' } as const

async function evaluate(
  { authors, fromFields, spf, dkim }: DmarcInput,
  counted: readonly ('pass' | 'temperror')[],
  resolver: DNSResolver,
): Promise<DmarcEvaluation> {
  const isCounted = ({ result }: { readonly result: string }): boolean => counted.some((word) => word === result)
  return await evaluateDmarc({
    headerFrom: [...authors],
    fromFields,
    spfDomains: isCounted(spf) && spf.domain !== '' ? [spf.domain] : [],
    dkimDomains: dkim.filter(isCounted).map(({ domain }) => ({ domain })),
    resolver,
    strict: true,
  })
}

function hasTemperror({ spf, dkim }: DmarcInput): boolean {
  return spf.result === 'temperror' || dkim.some(({ result }) => result === 'temperror')
}

function verdictOf(evaluation: Exclude<DmarcEvaluation['response'], false>, { authors }: DmarcInput): DmarcVerdict {
  const result = results[evaluation.status.result] ?? 'permerror'
  const policy = policies[evaluation.policy] ?? null
  return {
    result,
    domain: evaluation.status.header?.['from'] ?? authors[0] ?? null,
    policyDomain: evaluation.policyDomain ?? null,
    policy,
    disposition: result === 'fail' ? (policy ?? 'none') : 'none',
    reason: result === 'temperror' ? 'no answer from DNS' : null,
  }
}

const results: Readonly<Record<string, DmarcResult>> = {
  pass: 'pass',
  fail: 'fail',
  none: 'none',
  temperror: 'temperror',
  permerror: 'permerror',
}

const policies: Readonly<Record<string, DmarcPolicy>> = { none: 'none', quarantine: 'quarantine', reject: 'reject' }

/**
 * Findings of the checks as concerns. If DNS does not answer, the checks that need it found nothing out: they are part of
 * that one concern. Pure.
 */
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Concern } from '../../../operations/concerns/concern.js'
import { tellHarm } from '../../../operations/concerns/harm-words.js'
import { joinSettings } from '../../../operations/concerns/remedy-blocks.js'
import { describeCheckResult, describeSilentDns } from '../../../operations/concerns/trouble-words.js'
import { needingDns, SYSTEM_SERVERS } from '../../../operations/doctor/checks/dns-checks.js'
import type { StoredFinding } from '../../../operations/doctor/compare-findings.js'
import type { Finding } from '../../../operations/doctor/finding.js'
import type { OfNode, UnansweredCheck } from '../../../operations/doctor/findings-store.js'

export function toLiveConcern({ state, ...finding }: OfNode<Finding>): readonly Concern[] {
  if (state === 'ok') return []
  const about = `The check “${finding.check}” finds this now.`
  return [toConcern(finding, state === 'fail' ? 'bad' : 'warn', about)]
}

/** The concerns of the last runs: what was found, and which checks had no answer for another reason than DNS. */
export function toRunConcerns(
  stored: readonly OfNode<StoredFinding>[],
  unanswered: readonly OfNode<UnansweredCheck>[],
): readonly Concern[] {
  const silent = stored.filter(({ check }) => check === 'dns')
  const silentNodes = new Set(silent.map(({ node }) => node))
  const isMissed = ({ node, check }: OfNode<UnansweredCheck>): boolean =>
    silentNodes.has(node) && needingDns.includes(check)
  const missed = unanswered.filter(isMissed)
  return [
    ...silent.map((finding) =>
      toDnsConcern(
        finding,
        missed.filter(({ node }) => node === finding.node),
      ),
    ),
    ...stored.filter(({ check }) => check !== 'dns').map(toStoredConcern),
    ...unanswered.filter((finding) => !isMissed(finding)).map(toUnansweredConcern),
  ]
}

function toDnsConcern(finding: OfNode<StoredFinding>, missed: readonly UnansweredCheck[]): Concern {
  const { node, subject, text, failedAt } = finding
  const servers = subject === SYSTEM_SERVERS ? [] : subject.split(', ')
  const place = node === '' ? '' : ` (node ${node})`
  const about = `The check “dns” has found this since ${formatTimestamp(failedAt)}: ${text}.`
  return {
    ...toConcern(finding, 'bad', about),
    title: `${describeSilentDns({ servers, missed: missed.length })}${place}`,
    affected: missed.map((one) => `${one.check} ${describeCheckResult(one)}`),
  }
}

function toStoredConcern({ state, failedAt, ...finding }: OfNode<StoredFinding>): Concern {
  const about = `The check “${finding.check}” has found this since ${formatTimestamp(failedAt)}.`
  return toConcern(finding, state === 'fail' ? 'bad' : 'warn', about)
}

function toUnansweredConcern(finding: OfNode<UnansweredCheck>): Concern {
  const about = `The check “${finding.check}” had no answer, so it does not say whether this is in order.`
  return toConcern(finding, 'unanswered', about)
}

function toConcern(finding: OfNode<UnansweredCheck>, severity: Concern['severity'], about: string): Concern {
  const { node, check, subject, text, remedy: lines } = finding
  const place = node === '' ? subject : `${subject} on node ${node}`
  // The list of a workspace may have the same domain, in more words. All nodes check the same domains.
  const key = check === 'domains' ? `domain ${subject}` : `check ${check} ${place}`
  const result = describeCheckResult({ subject: place, text })
  const title = severity === 'unanswered' ? result : tellHarm(check, result)
  const link = { href: '/operator/health', label: 'Details on Health' }
  return { key, severity, title, text: about, link, remedy: joinSettings(lines) }
}

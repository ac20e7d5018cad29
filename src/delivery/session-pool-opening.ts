/**
 * Opening a session with what is remembered of the host: unreachable ones are not called
 * again for a while, and broken TLS falls back to plain text where it may.
 */
import type { Clock } from '../platform/clock.js'
import { UnreachableHosts } from './attempt-unreachable.js'
import type { Host } from './destination.js'
import { type Opened, openSession, type SmtpClientDeps } from './smtp-client.js'
import { BrokenTls, fallsBackToPlain } from './tls-policy.js'
import { joinedTranscripts } from './transcript.js'

export type OpenedHost = Opened & { readonly skipped: boolean }
export type OpenHost = (host: Host, signal: AbortSignal) => Promise<OpenedHost>

export function hostOpener(deps: SmtpClientDeps & { readonly clock: Clock }): OpenHost {
  const unreachable = new UnreachableHosts()
  const brokenTls = new BrokenTls()
  return async (host, signal) => {
    const trouble = unreachable.trouble(host, deps.clock())
    if (trouble !== null) return { kind: 'shut', trouble, tls: null, transcript: '', skipped: true }
    const opened = await openWithFallback(host, deps, signal, brokenTls)
    unreachable.learn(host, opened.kind === 'open' ? null : opened.trouble, deps.clock())
    return { ...opened, skipped: false }
  }
}

async function openWithFallback(
  host: Host,
  deps: SmtpClientDeps & { readonly clock: Clock },
  signal: AbortSignal,
  brokenTls: BrokenTls,
): Promise<Opened> {
  const encryption = brokenTls.encryption(host, deps.clock())
  const first = await openSession(host, deps, signal, encryption)
  if (first.kind === 'open' || encryption === 'none' || !fallsBackToPlain(host, first.trouble)) return first
  brokenTls.note(host, deps.clock())
  const second = await openSession(host, deps, signal, 'none')
  if (second.kind === 'open') return second
  return { ...second, transcript: joinedTranscripts([first.transcript, second.transcript]) }
}

/** Outcomes of webhooks, of codes by SMS and of exports, and the opens and clicks that were recorded. */
import type { Metrics } from './registry.js'

const smsSends = ['sent', 'refused', 'rejected', 'unanswered'] as const
const smsChecks = ['verified', 'invalid', 'expired', 'max_attempts'] as const

export interface ActivityObservers {
  /** `pending` means that it is tried again. */
  readonly onWebhookAttempt: (status: 'delivered' | 'pending' | 'failed') => void
  readonly onHitsRecorded: (kind: 'open' | 'click', count: number) => void
  readonly onHitLeftOut: () => void
  readonly onSmsSend: (outcome: (typeof smsSends)[number]) => void
  readonly onSmsCheck: (status: (typeof smsChecks)[number]) => void
  readonly onExportEnd: (outcome: 'completed' | 'failed') => void
}

export function createActivityObservers(metrics: Metrics): ActivityObservers {
  const webhooks = metrics.counter({
    name: 'posthorn_webhook_attempts_total',
    help: 'Attempts to deliver an event to a webhook: delivered, pending (it is tried again), or failed (given up).',
    labels: { outcome: ['delivered', 'pending', 'failed'] },
  })
  const exports = metrics.counter({
    name: 'posthorn_exports_total',
    help: 'Exports that have ended.',
    labels: { outcome: ['completed', 'failed'] },
  })
  return {
    ...createHitObservers(metrics),
    ...createSmsObservers(metrics),
    onWebhookAttempt: (status) => webhooks.add([status]),
    onExportEnd: (outcome) => exports.add([outcome]),
  }
}

function createHitObservers(metrics: Metrics): Pick<ActivityObservers, 'onHitsRecorded' | 'onHitLeftOut'> {
  const recorded = metrics.counter({
    name: 'posthorn_hits_recorded_total',
    help: 'Opens and clicks that were recorded as events, those of machines included.',
    labels: { kind: ['open', 'click'] },
  })
  const leftOut = metrics.counter({
    name: 'posthorn_hits_left_out_total',
    help: 'Opens and clicks that were not recorded because there were too many of one address or email, or in all.',
  })
  return { onHitsRecorded: (kind, count) => recorded.add([kind], count), onHitLeftOut: () => leftOut.add([]) }
}

function createSmsObservers(metrics: Metrics): Pick<ActivityObservers, 'onSmsSend' | 'onSmsCheck'> {
  const sends = metrics.counter({
    name: 'posthorn_sms_sends_total',
    help: 'Requests for a code by SMS: sent, refused by us (number, limit, hold), rejected by the provider, or unanswered by it.',
    labels: { outcome: smsSends },
  })
  const checks = metrics.counter({
    name: 'posthorn_sms_checks_total',
    help: 'Codes that were entered, by what the check found.',
    labels: { status: smsChecks },
  })
  return { onSmsSend: (outcome) => sends.add([outcome]), onSmsCheck: (status) => checks.add([status]) }
}

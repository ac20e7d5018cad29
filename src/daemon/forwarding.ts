/** Wires forwarding rules into the processing of mail from other servers, and the way back of bounces. */
import type { SigningKeyCache } from '../domains/dkim/signing-keys.js'
import type { SigningThread } from '../domains/dkim/signing-thread.js'
import type { ForwardRuleCache } from '../domains/forwards/forward-rule-cache.js'
import { createForwardingPlanner } from '../forwarding/plan-forwarding.js'
import { createBounceReturner } from '../forwarding/return-bounce.js'
import { domainOf } from '../mail/address.js'
import type { EnqueuedEmail } from '../messages/queue/enqueue.js'
import { SERVICE_WORKSPACE } from '../storage/tables/tables.js'
import type { ReceivingDeps } from './receiving.js'
import type { Webhooks } from './webhooks.js'

interface WiredDeps extends Pick<ReceivingDeps, 'config' | 'clock' | 'log' | 'database' | 'offer'> {
  readonly forwardRules: ForwardRuleCache
  readonly signingKeys: SigningKeyCache
  readonly signing: SigningThread
  readonly webhooks: Pick<Webhooks, 'refresh'>
}

const NO_BYTES = Buffer.alloc(0)

export function wireForwarding(deps: WiredDeps): Pick<ReceivingDeps, 'planForwarding' | 'returnBounces'> {
  const { config, clock, log, database, forwardRules: rules, signingKeys, signing, webhooks } = deps
  const { hostname, mail_from: mailFrom } = config.service
  const { read } = database
  const offer = (enqueued: EnqueuedEmail): void => deps.offer(enqueued, NO_BYTES)
  const common = { read, clock, log, hostname, offer }
  return {
    planForwarding: createForwardingPlanner({
      ...{ ...common, rules, signing },
      sealingKey: () => signingKeys.find(SERVICE_WORKSPACE, domainOf(mailFrom)),
      onWebhookDue: (hook) => webhooks.refresh(hook),
    }),
    returnBounces: (policy, processReport) => createBounceReturner({ ...common, policy, processReport }),
  }
}

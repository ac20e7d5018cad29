/** Opens the SMTP listeners: submission and MX. */
import type { ReadSettings, StartSettings } from '../../base/config/live-config.js'
import type { Receiving } from '../../inbound/receiving/receiving.js'
import { LineWrapper } from '../../outbound/sending/line-wrapper.js'
import { SubmissionAccess } from '../../outbound/sending/submission-access.js'
import type { MxDeps } from '../../servers/smtp/mx/mx-deps.js'
import { MxListener } from '../../servers/smtp/mx/mx-listener.js'
import type { SubmissionDeps } from '../../servers/smtp/submission/submission-deps.js'
import { SubmissionListener } from '../../servers/smtp/submission/submission-listener.js'
import type { Observers } from '../monitoring/monitoring.js'
import type { MessageMemory } from './message-memory.js'
import type { Sending } from './sending.js'

interface ListenerDeps extends Pick<MxDeps, 'clock' | 'log' | 'tls'> {
  readonly config: StartSettings
  readonly settings: ReadSettings
  readonly observers: Observers | null
  readonly memory: MessageMemory
  readonly isDraining: () => boolean
}

type Access = ConstructorParameters<typeof SubmissionAccess>[0]

export function openSubmissionListener(
  deps: ListenerDeps & Access & Pick<SubmissionDeps, 'acceptor' | 'hasDiskSpace'> & Pick<Sending, 'composing'>,
): Promise<SubmissionListener> {
  const { config, settings, tls, clock, log, acceptor, hasDiskSpace, isDraining, memory, observers, composing } = deps
  return SubmissionListener.start({
    ...{ tls, clock, log, acceptor, hasDiskSpace, isDraining },
    lineWrapper: new LineWrapper(composing),
    hostname: config.service.hostname,
    settings: () => settings().submission,
    access: new SubmissionAccess(deps),
    memory: memory.submission,
    observer: observers?.observeListener('submission') ?? null,
  })
}

export function openMxListener(
  deps: ListenerDeps & Pick<MxDeps, 'disk'> & { readonly receiving: Receiving },
): Promise<MxListener> {
  const { config, settings, clock, log, tls, disk, isDraining, memory, receiving, observers } = deps
  const { recipients, acceptor, blockLists, allowLists, greylist } = receiving
  return MxListener.start({
    ...{ clock, log, tls, disk, isDraining, recipients, acceptor, blockLists, allowLists, greylist },
    hostname: config.service.hostname,
    settings: () => settings().inbound,
    memory: memory.mx,
    observer: observers?.observeListener('mx') ?? null,
  })
}

/** Opens the submission listener. */
import type { ReadSettings, StartSettings } from '../../base/config/live-config.js'
import type { ListenerTls } from '../../base/platform/tls-files.js'
import { SubmissionAccess } from '../../outbound/sending/submission-access.js'
import type { SubmissionDeps } from '../../servers/smtp/submission/submission-deps.js'
import { type SubmissionListener, startSubmissionListener } from '../../servers/smtp/submission/submission-listener.js'
import type { Observers } from '../monitoring/monitoring.js'
import type { MessageMemory } from './message-memory.js'

type Access = ConstructorParameters<typeof SubmissionAccess>[0]

interface ListenerDeps extends Access, Pick<SubmissionDeps, 'clock' | 'log' | 'acceptor' | 'hasDiskSpace'> {
  readonly config: StartSettings
  readonly settings: ReadSettings
  readonly tls: ListenerTls
  readonly observers: Observers | null
  readonly memory: Pick<MessageMemory, 'submission'>
}

export function openSubmissionListener(deps: ListenerDeps): Promise<SubmissionListener> {
  const { config, settings, tls, clock, log, acceptor, hasDiskSpace, memory, observers } = deps
  return startSubmissionListener({
    ...{ tls, clock, log, acceptor, hasDiskSpace },
    hostname: config.service.hostname,
    settings: () => settings().submission,
    access: new SubmissionAccess(deps),
    memory: memory.submission,
    observer: observers?.observeListener('submission') ?? null,
  })
}

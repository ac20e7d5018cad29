/** Wires what only the operator sees: counts and acts of the queue, the health of the service, the log. */
import { type ProcessMeter, startProcessMeter } from '../../base/platform/processes/process-meter.js'
import type { TlsFiles } from '../../base/platform/tls-files.js'
import type { Database } from '../../base/storage/db/database.js'
import { QueueCounter } from '../../records/messages/queue/queue-census.js'
import { QueueWork } from '../../records/messages/queue/queue-work.js'
import type { DoctorRouteDeps } from '../../servers/api/operator/doctor.js'
import { type Bound, HealthReader } from '../../servers/api/operator/health-reader.js'
import type { QueueRouteDeps } from '../../servers/api/operator/queue.js'
import type { ServiceRouteDeps } from '../../servers/api/operator/service.js'
import { ServiceConcernReader } from '../../servers/api/operator/service-concerns.js'
import type { StartOptions } from './daemon-options.js'

interface OperatorDeps
  extends Pick<StartOptions, 'config' | 'settings' | 'clock' | 'logTail'>,
    Pick<DoctorRouteDeps, 'runDoctor'> {
  readonly database: Database
  /** The certificate that is served now. */
  readonly served: Pick<TlsFiles, 'cert'>
  readonly hasDiskSpace: () => boolean
  readonly onQueueChanged: () => Promise<void>
  readonly listeners: Bound
}

export interface Operator
  extends Omit<QueueRouteDeps, 'read' | 'commit'>,
    Pick<ServiceRouteDeps, 'health' | 'logTail'>,
    DoctorRouteDeps {
  /** What this process uses now. */
  readonly readProcess: ProcessMeter['read']
  readonly stop: () => Promise<void>
}

export async function wireOperator(deps: OperatorDeps): Promise<Operator> {
  const { database, clock, logTail, onQueueChanged, runDoctor } = deps
  const { read, commit, node } = database
  const meter = startProcessMeter()
  const counter = new QueueCounter(read, clock)
  const readCensus: Operator['readCensus'] = () => counter.count()
  const queueWork = await QueueWork.open({ read, commit, node, clock, onQueueChanged })
  const health = new HealthReader({ ...deps, meter, readCensus })
  return {
    ...{ readCensus, queueWork, onQueueChanged, runDoctor },
    health,
    serviceConcerns: new ServiceConcernReader({ ...deps, read, node, health }),
    readProcess: meter.read,
    logTail: logTail ?? { read: () => [] },
    stop: async () => {
      meter.stop()
      await queueWork.close()
    },
  }
}

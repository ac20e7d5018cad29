/** The types of the operator's interface. */
import type { components } from '../../api/session-schema.d.ts'

type Schemas = components['schemas']

export type OperatedWorkspace = Schemas['OperatedWorkspace']
export type QueueCensus = Schemas['QueueCensus']
export type QueueProvider = Schemas['QueueProvider']
export type QueueEntry = Schemas['QueueEntry']
export type QueueWork = Schemas['QueueWork']
export type QueueAct = QueueWork['act']
export type HoldRule = Schemas['HoldRule']
export type QueueStatus = QueueEntry['status']
export type Health = Schemas['Health']
export type ServiceConcerns = Schemas['ServiceConcerns']
export type ProviderPace = Schemas['ProviderPace']
export type LogLine = Schemas['LogLine']
export type SmsHold = Schemas['SmsHold']
export type ServiceSuppression = Schemas['ServiceSuppression']

export interface QueueFilters {
  readonly domain?: string
  readonly provider?: string
  readonly status?: QueueStatus
  readonly reason?: string
  readonly workspace_id?: string
}

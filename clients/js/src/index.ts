/** The package: the client with the types of the API, the errors, webhooks, and the transport for nodemailer. */
import { PosthornClient } from './posthorn-client.js'
import type { components, paths } from './schema.js'

export type { ConnectionOptions, RequestOptions } from './connection.js'
export { PosthornTransport, type SentMail } from './nodemailer-transport.js'
export type { Envelope } from './posthorn-client.js'
export { PosthornError } from './posthorn-error.js'
export {
  type VerifyOptions,
  verifyServiceSignature,
  verifyWebhook,
  WebhookError,
  type WebhookEvent,
  type WebhookHeaders,
  type WebhookRequest,
} from './webhooks.js'
export type { components, paths }

export class Posthorn extends PosthornClient<paths> {}

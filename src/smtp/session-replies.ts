/** The fixed replies of SMTP sessions. */
import type { SmtpReply } from './protocol-fault.js'

export const senderOk: SmtpReply = { code: 250, status: '2.1.0', text: 'Ok' }
export const recipientOk: SmtpReply = { code: 250, status: '2.1.5', text: 'Ok' }
export const bannedReply: SmtpReply = {
  code: 421,
  status: '4.7.0',
  text: 'Too many wrong keys, try again later',
}
/** RFC 4954 section 6. */
export const cannotAuthenticate: SmtpReply = { code: 454, status: '4.7.0', text: 'Temporary authentication failure' }
export const tooManyFaults: SmtpReply = { code: 421, status: '4.7.0', text: 'Too many errors' }
export const deadlineReply: SmtpReply = {
  code: 421,
  status: '4.4.2',
  text: 'This session has lasted long enough, connect again',
}
export const shutdownReply: SmtpReply = { code: 421, status: '4.3.2', text: 'Shutting down, try again later' }
export const tooManyConnections: SmtpReply = {
  code: 421,
  status: '4.3.2',
  text: 'Too many connections, try again later',
}
export const tooManyFromAddress: SmtpReply = { ...tooManyConnections, status: '4.7.0' }
export const tooManyFromNetwork: SmtpReply = {
  code: 421,
  status: '4.7.0',
  text: 'Too many connections from your network, try again later',
}
export const idleReply: SmtpReply = {
  code: 421,
  status: '4.4.2',
  text: 'Others wait for your place, connect again when you have mail',
}
export const tooSlowReply: SmtpReply = { code: 421, status: '4.4.2', text: 'Your message comes too slowly' }
export const loginTimeoutReply: SmtpReply = { code: 421, status: '4.4.2', text: 'AUTH did not come in time' }

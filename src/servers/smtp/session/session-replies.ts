/** The replies of SMTP sessions that both kinds have, or that depend on nothing but the state of the session. */
import { ProtocolFault, type SmtpReply } from './smtp-reply.js'

export const senderOk: SmtpReply = { code: 250, status: '2.1.0', text: 'Ok' }
export const recipientOk: SmtpReply = { code: 250, status: '2.1.5', text: 'Ok' }
export const needRcptReply: SmtpReply = { code: 503, status: '5.5.1', text: 'Error: need RCPT command' }

/** The 250 to a message, which is stored under this id. */
export function buildQueuedReply(id: string): SmtpReply {
  return { code: 250, status: '2.0.0', text: `Ok: queued as ${id}` }
}

export function buildNestedMailFault(): ProtocolFault {
  return new ProtocolFault(503, '5.5.1', 'nested MAIL command')
}

export function buildNeedMailFault(): ProtocolFault {
  return new ProtocolFault(503, '5.5.1', 'need MAIL command')
}

export const authenticatedReply: SmtpReply = { code: 235, status: '2.7.0', text: 'Authentication successful' }
export const authNeedsTlsReply: SmtpReply = { code: 538, status: '5.7.11', text: 'Must issue a STARTTLS command first' }
export const authInTransactionReply: SmtpReply = {
  code: 503,
  status: '5.5.1',
  text: 'AUTH is not allowed during a mail transaction',
}
export const bannedReply: SmtpReply = {
  code: 421,
  status: '4.7.0',
  text: 'Too many wrong keys, try again later',
}
/** RFC 4954 section 6. */
export const cannotAuthenticateReply: SmtpReply = {
  code: 454,
  status: '4.7.0',
  text: 'Temporary authentication failure',
}
export const tooManyFaults: SmtpReply = { code: 421, status: '4.7.0', text: 'Too many errors' }
export const tooManyCommands: SmtpReply = { code: 421, status: '4.7.0', text: 'Too many commands without a message' }
export const deadlineReply: SmtpReply = {
  code: 421,
  status: '4.4.2',
  text: 'This session has lasted long enough, connect again',
}
export const accessEndedReply: SmtpReply = { code: 421, status: '4.7.0', text: 'Your access has ended' }
export const expnReply: SmtpReply = { code: 502, status: '5.5.1', text: 'EXPN is not implemented' }
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
  text: 'The session was idle and other clients are waiting, connect again when you have mail',
}
export const tooSlowReply: SmtpReply = { code: 421, status: '4.4.2', text: 'Your message comes too slowly' }
export const loginTimeoutReply: SmtpReply = { code: 421, status: '4.4.2', text: 'AUTH did not come in time' }

// One SMTP session that sends the same message again and again, for load programs: it costs them little, since they
// share the machine with what is measured.
import { connect } from 'node:net'

const [LF, SPACE] = ['\n', ' '].map((text) => text.charCodeAt(0))

/**
 * `message`: as DATA transfers it, with the last dot. `onFree` is called with the session once it can take a message:
 * after EHLO, and after each message, then with `true`. Every refusal is an error.
 */
export function openSession({ host, port, from, to, message, onFree, onError }) {
  const commands = [`MAIL FROM:<${from}>\r\n`, `RCPT TO:<${to}>\r\n`, 'DATA\r\n', message]
  let step = -2
  let held = ''
  let isOver = false
  const handleReply = () => {
    if (held[0] !== '2' && held[0] !== '3') return onError(new Error(held.trim()))
    held = ''
    step += 1
    if (step === -1) socket.write('EHLO bench.test\r\n')
    else if (step > 0 && step < commands.length) socket.write(commands[step])
    else onFree(session, step === commands.length)
  }
  const read = (length, bytes) => {
    held += bytes.latin1Slice(0, length)
    if (!isOver && isCompleteReply(held)) handleReply()
    return true
  }
  const socket = connect({ host, port, noDelay: true, onread: { buffer: Buffer.alloc(4096), callback: read } })
  socket.on('error', onError)
  const session = {
    send: () => {
      step = 0
      socket.write(commands[0])
    },
    quit: () => {
      isOver = true
      socket.end('QUIT\r\n')
    },
  }
  return session
}

/** Whether the last line is complete and has a blank after its code (RFC 5321 section 4.2.1). */
function isCompleteReply(text) {
  const end = text.length - 1
  if (text.charCodeAt(end) !== LF) return false
  return text.charCodeAt(text.lastIndexOf('\n', end - 1) + 4) === SPACE
}

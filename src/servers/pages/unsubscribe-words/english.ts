/** The page of an unsubscribe link in English. */
import type { UnsubscribeWords } from './unsubscribe-words.js'

export const english: UnsubscribeWords = {
  unknownSender: 'the sender of this message',
  asks: {
    title: 'Unsubscribe?',
    text: {
      mail: 'You got mail from {sender} at {address}. If you unsubscribe, the organization behind this sender can send no more mail to this address through this server, not even messages that you ask for.',
      broadcasts:
        'You got mail from {sender} at {address}. If you unsubscribe, this address gets no more mail of this list. Messages that you ask for, such as a link for a new password, still arrive.',
    },
  },
  button: 'Unsubscribe',
  ifNothing: 'If you do nothing, nothing changes.',
  done: {
    title: 'You are unsubscribed',
    text: {
      mail: '{address} gets no more mail from {sender}. A message that is on its way may still arrive.',
      broadcasts:
        '{address} gets no more mail of this list from {sender}. A message that is on its way may still arrive.',
    },
  },
  doneBefore: {
    title: 'You are unsubscribed already',
    text: {
      mail: '{address} gets no mail from {sender}. There is nothing left to do.',
      broadcasts: '{address} gets no mail of this list from {sender}. There is nothing left to do.',
    },
  },
  undone: {
    title: 'You are subscribed',
    text: {
      mail: '{address} gets mail from {sender} as before.',
      broadcasts: '{address} gets mail of this list from {sender} as before.',
    },
  },
  stays: {
    title: 'You are still unsubscribed',
    text: {
      mail: 'This cannot be undone here. To get mail at {address} again, ask {sender}.',
      broadcasts: 'This cannot be undone here. To get mail of this list at {address} again, ask {sender}.',
    },
  },
  mistake: 'Was that a mistake? You can undo it for an hour.',
  undoButton: 'Subscribe again',
  tooLate: 'This cannot be undone here. If you change your mind, ask the sender.',
}

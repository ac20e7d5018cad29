/** The page of an unsubscribe link in Italian. */
import type { UnsubscribeWords } from './unsubscribe-words.js'

export const italian: UnsubscribeWords = {
  unknownSender: 'un mittente sconosciuto',
  asks: {
    title: 'Annullare l’iscrizione?',
    text: {
      mail: 'Ha ricevuto un’e-mail da {sender} all’indirizzo {address}. Se annulla l’iscrizione, l’organizzazione di questo mittente non potrà più inviare e-mail a questo indirizzo tramite questo server, nemmeno i messaggi che lei richiede.',
      broadcasts:
        'Ha ricevuto un’e-mail da {sender} all’indirizzo {address}. Se annulla l’iscrizione, questo indirizzo non riceverà più e-mail di questa lista. I messaggi che lei richiede, come un link per una nuova password, continueranno ad arrivare.',
    },
  },
  button: 'Annulla l’iscrizione',
  ifNothing: 'Se non fa nulla, non cambia nulla.',
  done: {
    title: 'L’iscrizione è annullata',
    text: {
      mail: '{address} non riceverà più e-mail da {sender}. Un messaggio già in viaggio può ancora arrivare.',
      broadcasts:
        '{address} non riceverà più e-mail di questa lista da {sender}. Un messaggio già in viaggio può ancora arrivare.',
    },
  },
  doneBefore: {
    title: 'L’iscrizione è già annullata',
    text: {
      mail: '{address} non riceve e-mail da {sender}. Non c’è altro da fare.',
      broadcasts: '{address} non riceve e-mail di questa lista da {sender}. Non c’è altro da fare.',
    },
  },
  undone: {
    title: 'L’iscrizione è attiva',
    text: {
      mail: '{address} riceve e-mail da {sender} come prima.',
      broadcasts: '{address} riceve e-mail di questa lista da {sender} come prima.',
    },
  },
  stays: {
    title: 'L’iscrizione resta annullata',
    text: {
      mail: 'Qui non si può tornare indietro. Per ricevere di nuovo e-mail all’indirizzo {address}, si rivolga a {sender}.',
      broadcasts:
        'Qui non si può tornare indietro. Per ricevere di nuovo e-mail di questa lista all’indirizzo {address}, si rivolga a {sender}.',
    },
  },
  mistake: 'È stato un errore? Può tornare indietro entro un’ora.',
  undoButton: 'Iscriviti di nuovo',
  tooLate: 'Qui non si può tornare indietro. Se cambia idea, si rivolga al mittente.',
}

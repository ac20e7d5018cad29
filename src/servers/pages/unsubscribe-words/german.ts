/** The page of an unsubscribe link in German. */
import type { UnsubscribeWords } from './unsubscribe-words.js'

export const german: UnsubscribeWords = {
  unknownSender: 'dem Absender dieser Nachricht',
  asks: {
    title: 'Abbestellen?',
    text: {
      mail: 'Sie haben unter {address} eine E-Mail von {sender} erhalten. Wenn Sie abbestellen, kann die Organisation hinter diesem Absender über diesen Server keine E-Mails mehr an diese Adresse senden, auch keine Nachrichten, die Sie selbst anfordern.',
      broadcasts:
        'Sie haben unter {address} eine E-Mail von {sender} erhalten. Wenn Sie abbestellen, erhält diese Adresse keine E-Mails dieser Liste mehr. Nachrichten, die Sie anfordern, etwa ein Link für ein neues Passwort, kommen weiterhin an.',
    },
  },
  button: 'Abbestellen',
  ifNothing: 'Wenn Sie nichts tun, ändert sich nichts.',
  done: {
    title: 'Sie haben abbestellt',
    text: {
      mail: '{address} erhält keine E-Mails mehr von {sender}. Eine Nachricht, die schon unterwegs ist, kann noch ankommen.',
      broadcasts:
        '{address} erhält keine E-Mails dieser Liste mehr von {sender}. Eine Nachricht, die schon unterwegs ist, kann noch ankommen.',
    },
  },
  doneBefore: {
    title: 'Sie haben bereits abbestellt',
    text: {
      mail: '{address} erhält keine E-Mails von {sender}. Es ist nichts weiter zu tun.',
      broadcasts: '{address} erhält keine E-Mails dieser Liste von {sender}. Es ist nichts weiter zu tun.',
    },
  },
  undone: {
    title: 'Sie sind wieder angemeldet',
    text: {
      mail: '{address} erhält E-Mails von {sender} wie zuvor.',
      broadcasts: '{address} erhält E-Mails dieser Liste von {sender} wie zuvor.',
    },
  },
  stays: {
    title: 'Sie sind weiterhin abgemeldet',
    text: {
      mail: 'Das lässt sich hier nicht rückgängig machen. Um unter {address} wieder E-Mails zu erhalten, fragen Sie bei {sender} nach.',
      broadcasts:
        'Das lässt sich hier nicht rückgängig machen. Um unter {address} wieder E-Mails dieser Liste zu erhalten, fragen Sie bei {sender} nach.',
    },
  },
  mistake: 'War das ein Versehen? Sie können es eine Stunde lang rückgängig machen.',
  undoButton: 'Wieder anmelden',
  tooLate: 'Das lässt sich hier nicht rückgängig machen. Wenn Sie es sich anders überlegen, fragen Sie den Absender.',
}

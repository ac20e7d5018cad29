/** The page of an unsubscribe link in Polish. */
import type { UnsubscribeWords } from './unsubscribe-words.js'

export const polish: UnsubscribeWords = {
  unknownSender: 'nieznany',
  asks: {
    title: 'Zrezygnować z subskrypcji?',
    text: {
      mail: 'Na adres {address} przyszła wiadomość. Nadawca: {sender}. Po rezygnacji organizacja tego nadawcy nie będzie mogła wysyłać przez ten serwer żadnych wiadomości na ten adres, nawet tych, o które Państwo poproszą.',
      broadcasts:
        'Na adres {address} przyszła wiadomość. Nadawca: {sender}. Po rezygnacji na ten adres nie będą przychodzić wiadomości z tej listy. Wiadomości, o które Państwo poproszą, na przykład link do nowego hasła, nadal będą przychodzić.',
    },
  },
  button: 'Zrezygnuj z subskrypcji',
  ifNothing: 'Bez żadnego działania nic się nie zmieni.',
  done: {
    title: 'Subskrypcja jest anulowana',
    text: {
      mail: 'Na adres {address} nie będą już przychodzić wiadomości. Nadawca: {sender}. Wiadomość, która jest już w drodze, może jeszcze dotrzeć.',
      broadcasts:
        'Na adres {address} nie będą już przychodzić wiadomości z tej listy. Nadawca: {sender}. Wiadomość, która jest już w drodze, może jeszcze dotrzeć.',
    },
  },
  doneBefore: {
    title: 'Subskrypcja była już anulowana',
    text: {
      mail: 'Na adres {address} nie przychodzą wiadomości. Nadawca: {sender}. Nie trzeba nic więcej robić.',
      broadcasts:
        'Na adres {address} nie przychodzą wiadomości z tej listy. Nadawca: {sender}. Nie trzeba nic więcej robić.',
    },
  },
  undone: {
    title: 'Subskrypcja jest aktywna',
    text: {
      mail: 'Na adres {address} przychodzą wiadomości jak dotąd. Nadawca: {sender}.',
      broadcasts: 'Na adres {address} przychodzą wiadomości z tej listy jak dotąd. Nadawca: {sender}.',
    },
  },
  stays: {
    title: 'Subskrypcja pozostaje anulowana',
    text: {
      mail: 'Tutaj nie można tego cofnąć. Aby znów otrzymywać wiadomości na adres {address}, prosimy o kontakt z nadawcą: {sender}.',
      broadcasts:
        'Tutaj nie można tego cofnąć. Aby znów otrzymywać wiadomości z tej listy na adres {address}, prosimy o kontakt z nadawcą: {sender}.',
    },
  },
  mistake: 'Czy to pomyłka? Można to cofnąć przez godzinę.',
  undoButton: 'Subskrybuj ponownie',
  tooLate: 'Tutaj nie można tego cofnąć. W razie zmiany zdania prosimy o kontakt z nadawcą.',
}

/** The page of an unsubscribe link in Dutch. */
import type { UnsubscribeWords } from './unsubscribe-words.js'

export const dutch: UnsubscribeWords = {
  unknownSender: 'de afzender van dit bericht',
  asks: {
    title: 'Uitschrijven?',
    text: {
      mail: 'U hebt op {address} e-mail ontvangen van {sender}. Als u zich uitschrijft, kan de organisatie achter deze afzender via deze server geen e-mail meer naar dit adres sturen, ook geen berichten waar u om vraagt.',
      broadcasts:
        'U hebt op {address} e-mail ontvangen van {sender}. Als u zich uitschrijft, ontvangt dit adres geen e-mail meer van deze lijst. Berichten waar u om vraagt, zoals een link voor een nieuw wachtwoord, komen nog steeds aan.',
    },
  },
  button: 'Uitschrijven',
  ifNothing: 'Als u niets doet, verandert er niets.',
  done: {
    title: 'U bent uitgeschreven',
    text: {
      mail: '{address} ontvangt geen e-mail meer van {sender}. Een bericht dat al onderweg is, kan nog aankomen.',
      broadcasts:
        '{address} ontvangt geen e-mail van deze lijst meer van {sender}. Een bericht dat al onderweg is, kan nog aankomen.',
    },
  },
  doneBefore: {
    title: 'U was al uitgeschreven',
    text: {
      mail: '{address} ontvangt geen e-mail van {sender}. U hoeft niets meer te doen.',
      broadcasts: '{address} ontvangt geen e-mail van deze lijst van {sender}. U hoeft niets meer te doen.',
    },
  },
  undone: {
    title: 'U bent ingeschreven',
    text: {
      mail: '{address} ontvangt e-mail van {sender} zoals voorheen.',
      broadcasts: '{address} ontvangt e-mail van deze lijst van {sender} zoals voorheen.',
    },
  },
  stays: {
    title: 'U blijft uitgeschreven',
    text: {
      mail: 'Dit kan hier niet ongedaan worden gemaakt. Vraag {sender} om weer e-mail te ontvangen op {address}.',
      broadcasts:
        'Dit kan hier niet ongedaan worden gemaakt. Vraag {sender} om weer e-mail van deze lijst te ontvangen op {address}.',
    },
  },
  mistake: 'Was dat een vergissing? U kunt het een uur lang ongedaan maken.',
  undoButton: 'Opnieuw inschrijven',
  tooLate: 'Dit kan hier niet ongedaan worden gemaakt. Als u zich bedenkt, vraag het de afzender.',
}

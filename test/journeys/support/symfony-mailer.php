<?php
/*
 * Sends with Symfony Mailer. Each argument is a recipient and a DSN, with a space between them. Prints a line of JSON for
 * each: the id of an email with everything, the id of one without files, and what the library throws for the sender of a
 * domain that is not verified.
 */
declare(strict_types=1);

use Symfony\Component\Mailer\Exception\TransportExceptionInterface;
use Symfony\Component\Mailer\Header\MetadataHeader;
use Symfony\Component\Mailer\Header\TagHeader;
use Symfony\Component\Mailer\Transport;
use Symfony\Component\Mailer\Transport\TransportInterface;
use Symfony\Component\Mime\Address;
use Symfony\Component\Mime\Email;

foreach (['Amazon', 'Mailgun', 'Postmark', 'Sendgrid'] as $bridge) {
    require "Symfony/Component/Mailer/Bridge/$bridge/autoload.php";
}
require 'Symfony/Component/HttpClient/autoload.php';

function compose(string $from, string $to): Email
{
    return (new Email())
        ->from(new Address($from, 'Grüße, App'))
        ->to(new Address($to, 'Bob, of B'))
        ->replyTo(new Address('help@a.test', 'Help'))
        ->subject('Rechnung für März ☂')
        ->text("Grüße,\n.\nFrom a line that begins so.\n")
        ->html('<p>Grüße <img src="cid:logo.png"></p>');
}

function composeWithFiles(string $from, string $to): Email
{
    $email = compose($from, $to)
        ->cc("cc-$to")
        ->bcc("bcc-$to")
        ->priority(Email::PRIORITY_HIGH)
        ->embed('a picture', 'logo.png', 'image/png')
        ->attach('99.00', 'bill.txt', 'text/plain');
    $email->getHeaders()->addTextHeader('X-Own', '1');
    $email->getHeaders()->add(new TagHeader('welcome'));
    $email->getHeaders()->add(new MetadataHeader('order', '5'));

    return $email;
}

function readRefusal(TransportInterface $transport, string $to): string
{
    try {
        $transport->send(compose('app@elsewhere.test', $to));
    } catch (TransportExceptionInterface $exception) {
        return $exception->getMessage();
    }

    return 'nothing was thrown';
}

foreach (array_slice($argv, 1) as $argument) {
    [$to, $dsn] = explode(' ', $argument);
    $transport = Transport::fromDsn($dsn);
    echo json_encode([
        'id' => $transport->send(composeWithFiles('app@a.test', $to))->getMessageId(),
        'plainId' => $transport->send(compose('app@a.test', "plain-$to"))->getMessageId(),
        'refusal' => readRefusal($transport, $to),
    ], JSON_THROW_ON_ERROR), "\n";
}

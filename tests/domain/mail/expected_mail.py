"""What a person says who reads the raw message: the words, who sent it to whom, what is attached, what kind it is.

Written by hand from the bytes, never from what our reader says. Of long texts the first and the last words stand here,
and words that must be there, or must not.
"""

from dataclasses import dataclass

LUG = "List maintainer: listmaster@linux.ie"
SOURCEFORGE = "https://lists.sourceforge.net/lists/listinfo/spamassassin-devel"
YAHOO = "Your use of Yahoo! Groups is subject to http://docs.yahoo.com/info/terms/"
FORK = "http://xent.com/mailman/listinfo/fork"
OWNER = "owner@box.example"
ANN = ("Ann Lee", "ann@sender.example")


@dataclass(frozen=True)
class Read:
    """One message as a person reads it; `kind` is nothing where only its words tell."""

    begins: str
    ends: str
    sender: tuple[str, str] | None
    to: tuple[str, ...] = ()
    cc: tuple[str, ...] = ()
    subject: str = ""
    files: tuple[str, ...] = ()
    kind: str = ""
    holds: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


def whole(
    text: str, sender: tuple[str, str] | None, *to: str, subject: str, kind: str = "human", **more: object
) -> Read:
    """A short message, of which every word stands here."""
    return Read(text, text, sender, to, subject=subject, kind=kind, **more)  # type: ignore[arg-type]  # the rest by name


PEOPLE = ("Ann Lee", "ann@people.example")
TUESDAY = "Can you tell me whether Tuesday suits you?"
BARE = ("", "a@b.example")

ODD = {
    "auto-submitted-comment": whole("Away.", BARE, subject="s", kind="auto_reply"),
    "bel-in-word": whole(TUESDAY, PEOPLE, "owner@postroom.example", subject="Question about Tuesday"),
    "blanks-around-at": whole("body", ("", "ann@a.example"), subject="s"),
    "charset-2231": whole("Grüße", ANN, OWNER, subject="x"),
    "filename-unquoted-blanks": whole("Hi", ANN, OWNER, subject="Hello", files=("Partner Agreement Week 11.pdf",)),
    "html-and-list-footer": Read(
        "Can you come on Tuesday at five instead? Please answer today.",
        "club mailing list\nclub@lists.example",
        ANN,
        (OWNER,),
        subject="[club] Meeting moved",
        kind="human",
    ),
    "iso2022jp-is-utf8": whole("見積書", ANN, OWNER, subject="x"),
    "iso2022jp-no-charset": whole("お世話になっております。見積書を送ってください。", ANN, OWNER, subject="jp"),
    "long-filename": Read(
        "Hi", "Hi", ANN, (OWNER,), subject="Hello", files=(f"{'a' * 99}…{'a' * 96}.exe",), kind="human"
    ),
    "long-subject": whole(
        TUESDAY, PEOPLE, "owner@postroom.example", subject=f"Question about the contract{' the contract' * 23} end?"
    ),
    "message-id-bare": whole("x", BARE, subject=""),
    "message-id-words": whole("x", BARE, subject=""),
    "named-body": whole("Please confirm.", ANN, OWNER, subject="Hello", files=("a.pdf",)),
    "placeholder-plain": whole("Please confirm the appointment on Friday.", ANN, OWNER, subject="Hello"),
    "question-mark-in-word": whole("x", BARE, subject="Kommst du mit? Ja?"),
    "raw-jis-subject": whole(TUESDAY, PEOPLE, "owner@postroom.example", subject="打合せの件"),
    "stray-quote": whole("body", None, "one@a.example", "tim@a.example", "jane@a.example", subject="s"),
    "wrapped-body": Read(
        "This message is to remind you that the payment is overdue since\nMonday.",
        "Please pay the\xa0open invoice.",
        ANN,
        (OWNER,),
        subject="Bill",
        kind="human",
    ),
}

REAL = {
    "easy-ham-1/00032": Read(
        "An apparent quote from Dubya, from the Times (sent to me by my Dad):",
        FORK,
        ("Robert Harley", "harley@argote.ch"),
        ("fork@spamassassin.taint.org",),
        subject="Entrepreneurs",
        kind="list",
        holds=("they don't have a word for entrepreneur.'",),
    ),
    "easy-ham-1/00034": Read(
        "Al white wrote:",
        LUG,
        ("Mark Twomey", "bauwolf@indigo.ie"),
        ("ilug@linux.ie",),
        kind="list",
        holds=("It runs Solaris 8 x86 as standard.", "(I was joking Al)"),
    ),
    "easy-ham-1/00118": Read(
        "Understand, not enough caffeine absorbed yet this morning. (7:00AM here for",
        YAHOO,
        ("Webmaster", "webmaster@bestirishmusic.com"),
        ("zzzzteana@yahoogroups.com",),
        kind="list",
        holds=("Right...Talking Stick!",),
    ),
    "easy-ham-1/00137": Read(
        "URL: http://diveintomark.org/archives/2002/10/08.html#teach_a_man_to_fish",
        "[1] http://www.disobey.com/amphetadesk/finding_more.html",
        ("diveintomark", "rssfeeds@spamassassin.taint.org"),
        ("zzzz@spamassassin.taint.org",),
        subject="Teach a man to fish",
        kind="automated",
    ),
    "easy-ham-1/00404": Read(
        "----- Original Message -----",
        "there is.",
        ("Mr. FoRK", "fork_list@hotmail.com"),
        ("fork@spamassassin.taint.org",),
        subject="Re: Java is for kiddies",
        kind="list",
        holds=("> hardware functions.", "In theory there is no difference"),
    ),
    "easy-ham-1/00897": Read(
        "It wasn't gloating, it was one for the horror file.",
        ">",
        ("John Hall", "johnhall@evergo.net"),
        ("geege@barrera.org", "fork@spamassassin.taint.org"),
        subject="RE: Our friends the Palestinians, Our servants in government.",
        kind="list",
    ),
    "easy-ham-1/01327": Read(
        "On Mon, 26 Aug 2002 the voices made bugzilla-daemon@hughes-family.org write:",
        SOURCEFORGE,
        ("Tony L. Svanstrom", "tony@svanstrom.com"),
        ("bugzilla-daemon@hughes-family.org",),
        ("spamassassin-devel@example.sourceforge.net",),
        "Re: [SAdev] [Bug 735] spamassassin -t lies",
        kind="list",
    ),
    "easy-ham-1/01495": Read(
        '"Michael Moncur" said:',
        "--j.",
        ("Justin Mason", "yyyy@spamassassin.taint.org"),
        ("mgm@starlingtech.com",),
        ("yyyy@spamassassin.taint.org", "quinlan@pathname.com", "SpamAssassin-devel@lists.sourceforge.net"),
        "Re: [SAdev] phew!",
        kind="human",
    ),
    "easy-ham-1/01648": Read(
        "Did you want this on the list? I'm replying to the list..",
        "AOL-IM: BKClements",
        ("Brad Clements", "bkc@murkworks.com"),
        subject="[Spambayes] Deployment",
        kind="human",
        holds=("> What's an auto-ham?",),
    ),
    "easy-ham-1/01671": Read(
        "[Guido]",
        "classifier.",
        ("Tim Peters", "tim.one@comcast.net"),
        subject="[Spambayes] Deployment",
        kind="human",
    ),
    "easy-ham-1/01982": Read(
        "URL: http://www.newsisfree.com/click/-5,8081289,1440/",
        "during the Wright brothers' famous flight in 1903",
        ("newscientist", "rssfeeds@spamassassin.taint.org"),
        ("yyyy@spamassassin.taint.org",),
        subject="Supersonic test plane uses 'wing warping'",
        kind="automated",
    ),
    "easy-ham-1/02012": Read(
        "URL: http://www.newsisfree.com/click/-4,8274142,1717/",
        "[IMG: http://www.newsisfree.com/Images/fark/sbb.gif ([Sports by Brooks])]",
        ("fark", "rssfeeds@spamassassin.taint.org"),
        ("yyyy@spamassassin.taint.org",),
        subject="Phoenix Suns owner dons dreadlocks to help sell tickets",
        kind="automated",
    ),
    "easy-ham-2/00014": Read(
        "Hi all, I posted the below question to this list so I thought I'd update you",
        LUG,
        ("Justin MacCarthy", "macarthy@iol.ie"),
        ("ilug@linux.ie",),
        kind="list",
    ),
    "easy-ham-2/00032": Read(
        "I reckon that the Cat[s] will be more interested in the fish in the gaf.",
        LUG,
        ("Wynne, Conor", "conor_wynne@maxtor.com"),
        ("paulj@alphyra.ie", "kevin+dated+1027702868.158056@linux.ie"),
        ("ciaran17@eircom.net", "conor_wynne@maxtor.com", "colm@tuatha.org", "social@linux.ie"),
        "RE: [ILUG-Social] Completely OT, Siamese Cats???",
        kind="list",
    ),
    "easy-ham-2/00204": Read(
        "On Thu, 1 Aug 2002, John P. Looney wrote:",
        LUG,
        ("yyyycc", "yyyycc@hackwatch.com"),
        ("ilug@linux.ie",),
        subject="Re: [ILUG] serial console question",
        kind="list",
        holds=("Regards...jmcc",),
    ),
    "easy-ham-2/00451": Read(
        "Hi All,",
        LUG,
        ("Colin Nevin", "colin_nevin@yahoo.com"),
        ("ilug@linux.ie",),
        subject="[ILUG] staroffice 6.0 installation freezes under RH7.3",
        kind="list",
        holds=("Do You Yahoo!?",),
    ),
    "easy-ham-2/00855": Read(
        "email.  I could see certain friends of mine getting fairly annoyed",
        FORK,
        ("", "bitbitch@magnesium.net"),
        ("eugen@leitl.org",),
        ("fork@spamassassin.taint.org",),
        "Re: Mossberg on 'ChoiceMail': 'In my tests, it cut my spam to zero.'",
        kind="list",
        holds=("Woo hoo!   Law school!)   </sidenote>",),
    ),
    "easy-ham-2/01235": Read(
        "Once upon a time, Ralf wrote :",
        "http://lists.freshrpms.net/mailman/listinfo/rpm-list",
        ("Matthias Saou", "matthias@egwn.net"),
        ("rpm-zzzlist@freshrpms.net",),
        subject="Re: making rpms from already-compiled source trees",
        kind="list",
    ),
    "hard-ham-1/00001": Read(
        "======================== THE MOTLEY FOOL ========================",
        "Message-Recipient: mkettler@home.com",
        ("The Motley Fool", "Fool@motleyfool.com"),
        ("mkettler@home.com",),
        subject="Personal Finance: Resolutions You Can Keep",
        kind="bulk",
        holds=("- ASK THE FOOL: Stop the Solicitation!",),
    ),
    "hard-ham-1/00025": Read(
        "CNET Shopper Electronics Newsletter",
        "",
        ("CNET Shopper Electronics Edition", "Online#3.19685.54-2t7_gc22RoTI4sRR.1@newsletter.online.com"),
        ("qqqqqqqqqq-cnet-newsletters@spamassassin.taint.org",),
        subject="Looking for the perfect camera for your summer vacation? (CNET SHOPPER)",
        kind="bulk",
        lacks=("<td", "Electronics Edition</title>", "home.cnet.com/b.gif"),
    ),
    "hard-ham-1/00055": Read(
        "",
        "",
        ("Daily Dilbert", "2.20445.33-5_gUgBqXK2vm.1@ummail4.unitedmedia.com"),
        ("qqqqqqqqqq-dilbert@spamassassin.taint.org",),
        subject="Your Daily Dilbert 07/12/2002",
        kind="bulk",
        holds=("enjoy your daily comic from Dilbert.com",),
        lacks=("your mail system\neither can't support HTML",),
    ),
    "hard-ham-1/00176": Read(
        "New Message on One Income Living",
        "Remove my e-mail address from One Income Living.",
        ("joyful", "abcusa88@hotmail.com"),
        ("OneIncomeLiving@groups.msn.com",),
        subject="Re: Hi! I'm new here.",
        holds=("Thank you for all the advice.",),
        lacks=("does not support HTML-enhanced messages",),
    ),
    "hard-ham-1/00183": Read(
        "Made me chuckle.",
        ">> Doing the blogging thang again at http://www.groovymother.com/ <<",
        ("rODbegbie", "rOD@arsecandle.org"),
        ("spamassassin-talk@example.sourceforge.net",),
        subject="[SAtalk] OT: Can Weblogs Reach Ronald Scelson?",
        files=("smime.p7s",),
        kind="list",
        lacks=("This is a multi-part message",),
    ),
    "hard-ham-1/00197": Read(
        "You are subscribed as: CARRIE@AXESS.COM",
        "",
        ("dELiA*s", "delias_b@email.iturf.com"),
        ("CARRIE@AXESS.COM",),
        subject="Outer Where? Right here, at dELiAs*cOm!",
        kind="bulk",
        lacks=("If you can see this",),
    ),
    "hard-ham-1/00234": Read(
        "",
        "",
        ("Tesco .ie", "tesco.ie@crrvja.cjsias.uhbeqs.reply.12hs.com"),
        ("yyyy@spamassassin.taint.org",),
        subject="Quicker and easier shopping with Tesco.",
        kind="bulk",
        lacks=("cannot be displayed by your email software",),
    ),
    "hard-ham-1/00241": Read(
        "",
        "",
        None,
        files=("notspam.txt",),
        kind="list",
        holds=('> #require a bit more than "average" confidence.', "On Wednesday 13 November 2002 12:20, you wrote:"),
        lacks=("Return-Path: <slashdot@slashdot.org>",),
    ),
    "hard-ham-1/00246": Read(
        "",
        "",
        ("Apple Store eNews", "senews-nov@euromailer.lists.apple.com"),
        ("yyyy-apple@spamassassin.taint.org",),
        subject="Apple Store eNews : November 2002",
        kind="bulk",
        lacks=("You appear to be using an email application",),
    ),
    "spam-1/00036": Read(
        "Dear Friend,",
        "",
        None,
        subject="Re: Your bank account",
        holds=("SO WHAT DOES ALL THIS MEAN TO YOU? EASY MONEY!!",),
    ),
    "spam-1/00052": Read(
        "",
        "",
        None,
        ("zzzz@inetria.com", "yyyy@islacc.com", "yyyy@yyyy.com", "yyyy@koen.com"),
        ("zzzz@mailandnews.com", "yyyy@market1.com", "yyyy@mediaone.net"),
        "Competitive Mortgage Rates",
        holds=("CLICK HERE FOR FORM",),
        lacks=("Here It Is!!!!", "BJK9"),
    ),
    "spam-1/00137": Read(
        "",
        "",
        ("IQ - National Travelers", "nt@insiq.us"),
        ("zzzz@spamassassin.taint.org",),
        holds=("The best critical illness product on the market. Period.",),
        lacks=("<html", "multi-part message"),
    ),
    "spam-1/00421": Read(
        "Generic V*AGRA -",
        "We apologise for any inconvenience we may have caused you.",
        ("Patrice Alt", "silagra888@hotmail.com"),
        ("millennium@efi.fi",),
        subject="First Time Generic V*agra under $3 per 50mg",
    ),
    "spam-2/00223": Read(
        "",
        "",
        ("", "david@x163.com"),
        ("8qwy708@dogma.slashnull.org",),
        subject="good news t4hvHyeSgJoP4DZQbVILLg",
        kind="list",
        holds=("http://www.angelfire.com/80s/pic9/shoujie.jpg",),
    ),
    "spam-2/00425": Read(
        "",
        "",
        ("", "sepstein0855n21@msn.com"),
        ("yyyy@netnoteinc.com",),
        subject="Attention Instant Internet Business 1848qgMTl8",
        kind="bulk",
        holds=("To opt-out of our database CLICK HERE",),
        lacks=("IMPORTANT UPDATE",),
    ),
    "spam-2/00617": Read(
        "",
        "Please remove me.",
        ("GILDA HOOPER", "7878khb87bb7b8@msn.com"),
        ("Undisclosed.Recipients@mandark.labs.netnoteinc.com",),
        subject="Re: Education Opportunity we spoke about GF",
        lacks=("A.yellow",),
    ),
    "spam-2/00919": Read(
        "FROM THE DESK OF:DR.OLUFEMI COKER,",
        FORK,
        ("DR.OLUFEMI COKER", "olu_101@mail.com"),
        ("fork@spamassassin.taint.org",),
        subject="INVITATION TO TREAT",
        kind="list",
    ),
    "spam-2/01026": Read(
        "",
        "https://lists.sourceforge.net/lists/listinfo/spamassassin-sightings",
        ("Stephanie Curry", "Pharmacy@onebox.com"),
        ("rajen@sswt.com",),
        ("cmessner@ssyh.com", "andrew@ssynth.co.uk", "mail@ssystems.com", "cypherpunks@einstein.ssz.com"),
        "Phentermine,Xenical,Viagra",
        lacks=("Edrugsource.com</title>",),
    ),
    "spam-2/01276": Read(
        "Protect your financial well-being.\nPurchase an Extended Auto Warranty for your Vehicle TODAY.",
        "",
        ("Maragret Daily", "abar1@webmail.co.za"),
        ("Robasciotti@webnote.net",),
        subject="why does your vehicle make that noise?",
        holds=("- Car Rental Benefits.\n- Trip Interruption Benefits.",),
    ),
}

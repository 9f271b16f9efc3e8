"""Counters on web pages: lines that give the number of likes, comments or views.

    is_counter("3 likes · 12 comments")      ->  True
    is_counter("阅读(1204) 评论(3)")            ->  True
    is_counter("The post got 3 likes.")      ->  False

RefinedWeb (Penedo et al. 2023, G.2) drops such lines; the words are this project's own.
"""

import re


def any_of(*lists: str) -> str:
    """Return an expression for any phrase of the lists, whose phrases are separated by "|"."""
    return f"(?:{'|'.join(part.strip('|') for part in lists)})"


_NUMBER = r"[0-9][0-9.,]*+\s?(?:[kKmMbB](?![A-Za-z])|万|千|亿)?\+?"
_COUNTED = any_of(
    "likes?|shares?|comments?|views?|followers?|following|retweets?|reposts?|tweets?|replies|reply",
    "reads?|votes?|upvotes?|favou?rites?|subscribers?|downloads?|ratings?|reviews?|reactions?",
    "responses?|posts?|photos?|videos?|fans?|hits?|claps?|bookmarks?|pins?|plays?|notes?|hearts?",
    "people (?:like|liked|found) this|(?:people )?(?:online|watching)|users? online|impressions?",
    "results?|items?|products?|views? today|total views?|page views?|visits?|visitors?|saves?",
    "listings?|answers?|threads?|topics?|messages?|contributions?|stars?|forks?",
)
_COUNTED_CHINESE = (
    "(?:人|次|条|个|篇|位|张|名)?"
    + any_of(
        "点赞|赞|踩|评论|阅读|浏览|播放|转发|收藏|分享|关注|粉丝|回复|下载|喜欢|参与|访问|点击|跟贴",
        "跟帖|投票|回答|留言|围观|在看|想看|看过|观看|评价|在线|热度|人气|帖子|弹幕",
    )
    + "(?:过|量|数|次数|人数)?了?"
)
_OF_NUMBER = rf"\s{{0,3}}[:：]?\s{{0,3}}[(（]?{_NUMBER}[)）]?"
_COUNTER = any_of(
    rf"{_NUMBER}\s{{0,3}}{_COUNTED}",
    rf"{_COUNTED}{_OF_NUMBER}",
    rf"{_NUMBER}\s{{0,3}}{_COUNTED_CHINESE}",
    rf"(?:总|今日|累计|已有)?{_COUNTED_CHINESE}{_OF_NUMBER}[人次条个]?",
    rf"(?:共有?|已有){_NUMBER}\s{{0,3}}{_COUNTED_CHINESE}",
    r"rated [0-9.]{1,4} out of [0-9]{1,3}(?: stars)?|[0-9.]{1,4} out of [0-9]{1,3} stars?",
    r"[0-9]{1,6} of [0-9]{1,6} (?:people|users|customers) found this (?:review )?helpful",
    r"page [0-9]{1,6} of [0-9]{1,6}|"
    r"showing [0-9]{1,6}\s?[-–]\s?[0-9]{1,6} of [0-9]{1,6}[\w ]{0,12}",
    "第\\s?[0-9]{1,6}\\s?页[/，, ]?\\s?共\\s?[0-9]{1,6}\\s?页",
)
_COUNTERS = re.compile(
    rf"[\s·•|/,，(（\[-]{{0,4}}{_COUNTER}(?:[\s·•|/,，、)）\]-]{{1,4}}+{_COUNTER}){{0,8}}"
    r"[\s.。)）\]]{0,4}",
    re.IGNORECASE,
)


def is_counter(line: str) -> bool:
    """Whether a line counts likes, comments, views and the like, and nothing else."""
    return _COUNTERS.fullmatch(line) is not None
